import { EMAIL, hasLength } from './limits.ts';

/** An address with the name that mail programs show. */
export type NamedAddress = { readonly name: string; readonly address: string };

/**
 * Normalises an e-mail address for storage and comparison. Invisible characters, which may come along when an address is copied, are left
 * out, so that two addresses that look alike are the same. Those that turn letters round stay, because such an address reads as another one.
 */
export const normalisedEmail = (email: string): string =>
  email
    .replaceAll(/(?![\u202d\u202e])\p{Cf}/gu, '')
    .trim()
    .normalize('NFC')
    .toLowerCase();

/**
 * Whether a text can be the e-mail address of a person: a name, and a domain of at least two labels. The name may have what RFC 5321
 * allows without quotes, and letters of any script (RFC 6531). Only the mail server knows whether it exists.
 */
export function isAddress(email: string): boolean {
  if (!isSafeForSmtp(email)) return false;
  const [name = '', domain = ''] = email.split('@');
  return NAME.test(name) && domain.split('.').length > 1 && domain.split('.').every(isLabel) && TOP_LEVEL.test(domain);
}

const NAME = /^[\p{L}\p{M}\p{N}.!#$%&'*+/=?^_`{|}~-]+$/u;
const isLabel = (label: string): boolean => /^[\p{L}\p{M}\p{N}-]+$/u.test(label) && !/^-|-$/.test(label);
/** The last label is no number: that would be an IP address. */
const TOP_LEVEL = /\.(?!\d+$)[^.]{2,}$/u;

/**
 * Whether mail can be sent to an address: nothing in it is invisible or could end it in a command or a header of SMTP. Users may have
 * addresses from before {@link isAddress} was strict, and the settings may have those of a network without domains.
 */
export const isSafeForSmtp = (email: string): boolean =>
  hasLength(email, EMAIL) && /^[^\s@<>"\p{Cc}\p{Cf}]+@[^\s@<>"\p{Cc}\p{Cf}]+$/u.test(email);
