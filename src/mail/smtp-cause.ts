/** The fields of the errors of nodemailer that are used here. */
export type SmtpFailure = {
  readonly code?: unknown;
  /** That of Node or OpenSSL, such as `ECONNREFUSED`. */
  readonly originalCode?: unknown;
  /** What OpenSSL says. */
  readonly reason?: unknown;
  /** The command that failed. */
  readonly command?: unknown;
  readonly response?: unknown;
  readonly responseCode?: unknown;
  readonly message?: unknown;
};

/**
 * Why the server takes no mail, in words of this service: everyone can read them in `/readyz`, so they quote no server. The keys are stored;
 * the guide of operators has a line for each.
 */
export const MAIL_CAUSES = {
  NotTrusted: 'its certificate is not trusted',
  Expired: 'its certificate has expired',
  NotYetValid: 'its certificate is not valid yet, or the clock of this machine is wrong',
  OtherName: 'its certificate is for another name',
  NoTlsOnPort: 'it speaks no TLS from the start on this port: smtp:// uses STARTTLS',
  NoStartTls: 'it offers no TLS (STARTTLS), which SMTP_URL requires',
  SignInRefused: 'it refuses the user or the password',
  UnknownHost: 'its host name cannot be found',
  NoAnswer: 'it does not answer',
  NotReached: 'it cannot be reached',
  RefusesService: 'it refuses this service',
  RefusesSome: 'it refuses this service for some recipients',
} as const;
export type MailCause = keyof typeof MAIL_CAUSES;

/** By the code of nodemailer, Node or OpenSSL. */
const BY_CODE: Readonly<Record<string, MailCause>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'NotTrusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'NotTrusted',
  UNABLE_TO_GET_ISSUER_CERT: 'NotTrusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'NotTrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'NotTrusted',
  CERT_HAS_EXPIRED: 'Expired',
  CERT_NOT_YET_VALID: 'NotYetValid',
  ERR_TLS_CERT_ALTNAME_INVALID: 'OtherName',
  ERR_SSL_WRONG_VERSION_NUMBER: 'NoTlsOnPort',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'NoTlsOnPort',
  ETLS: 'NoStartTls',
  EAUTH: 'SignInRefused',
  EDNS: 'UnknownHost',
  ETIMEDOUT: 'NoAnswer',
  // Broken off by this service, which has waited long enough.
  EABORT: 'NoAnswer',
};

export function causeOf({ code, originalCode, responseCode }: SmtpFailure): MailCause {
  const known = BY_CODE[String(originalCode)] ?? BY_CODE[String(code)];
  return known ?? (responseCode === undefined ? 'NotReached' : 'RefusesService');
}
