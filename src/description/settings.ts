/** Facts about this installation in the description. */
export type Settings = {
  /** The `{base_url}` of the specification without its path prefix; also the issuer. */
  readonly publicUrl: string;
  /** ISO 4217 code. */
  readonly currency: string;
  readonly serviceFeePercent: number;
  /** Webhook registrations an account may have. */
  readonly webhooksPerAccount: number;
};

/** The path prefix of the API. */
export const PREFIX = '/api/v1';

/** The `{base_url}` of the specification. */
export const baseUrlOf = ({ publicUrl }: Settings): string => `${publicUrl}${PREFIX}`;
