import { EMAIL, hasLength } from './limits.ts';

/** An address with the name that mail programs show. */
export type NamedAddress = { readonly name: string; readonly address: string };

/** Normalises an e-mail address for storage and comparison. */
export const normalisedEmail = (email: string): string => email.trim().normalize('NFC').toLowerCase();

/**
 * Whether a text can be an e-mail address: something before and after a single `@`, and nothing that could end it in a command or a header
 * of SMTP. Deliberately lenient: only the mail server knows whether an address exists.
 */
export const isAddress = (email: string): boolean => hasLength(email, EMAIL) && /^[^\s@<>"]+@[^\s@<>"]+$/.test(email);
