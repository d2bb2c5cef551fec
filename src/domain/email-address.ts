import { EMAIL, hasLength } from './limits.ts';

/** An address with the name that mail programs show. */
export type NamedAddress = { readonly name: string; readonly address: string };

/**
 * Normalises an e-mail address for storage and comparison. Invisible characters, which may come along when an address is copied, are left
 * out, so that two addresses that look alike are the same.
 */
export const normalisedEmail = (email: string): string =>
  email
    .replaceAll(/\p{Cf}/gu, '')
    .trim()
    .normalize('NFC')
    .toLowerCase();

/**
 * Whether a text can be an e-mail address: something before and after a single `@`, and nothing that is invisible or could end it in a
 * command or a header of SMTP. Deliberately lenient: only the mail server knows whether an address exists.
 */
export const isAddress = (email: string): boolean =>
  hasLength(email, EMAIL) && /^[^\s@<>"\p{Cc}\p{Cf}]+@[^\s@<>"\p{Cc}\p{Cf}]+$/u.test(email);
