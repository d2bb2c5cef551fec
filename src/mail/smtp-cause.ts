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

const NOT_TRUSTED = 'its certificate is not trusted';
const NO_TLS_ON_PORT = 'it speaks no TLS from the start on this port: smtp:// uses STARTTLS';
const NO_ANSWER = 'it does not answer';
const NOT_REACHED = 'it cannot be reached';
export const REFUSES_SERVICE = 'it refuses this service';
export const REFUSES_SOME = 'it refuses this service for some recipients';

/** By the code of nodemailer, Node or OpenSSL. */
const BY_CODE: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: NOT_TRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: NOT_TRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: NOT_TRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: NOT_TRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: NOT_TRUSTED,
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet, or the clock of this machine is wrong',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS_ON_PORT,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS_ON_PORT,
  ETLS: 'it offers no TLS (STARTTLS), which SMTP_URL requires',
  EAUTH: 'it refuses the user or the password',
  EDNS: 'its host name cannot be found',
  ETIMEDOUT: NO_ANSWER,
  // Broken off by this service, which has waited long enough.
  EABORT: NO_ANSWER,
};

/** Every cause, for the guide of operators. */
export const CAUSES: readonly string[] = [
  ...new Set([...Object.values(BY_CODE), NOT_REACHED, REFUSES_SERVICE, REFUSES_SOME]),
];

/** Why the server takes no mail, in words of this service: everyone can read them in `/readyz`, so they quote no server. */
export function causeOf({ code, originalCode, responseCode }: SmtpFailure): string {
  const known = BY_CODE[String(originalCode)] ?? BY_CODE[String(code)];
  return known ?? (responseCode === undefined ? NOT_REACHED : REFUSES_SERVICE);
}
