import { cutText } from '../../domain/cut-text.ts';
import { namedText } from '../../html/html.ts';

/** Characters of a name in a mail to a person who is no member. */
const MAX_NAME = 60;

/**
 * A name in a mail to a person who is no member. Any member of an account can choose its name, for example one that reads like a message of this
 * service with an address to sign in at. So it is short and in quotes, and mail programs make no link of what is in it.
 */
export const foreignName = (name: string): string => `“${namedText(cutText(withoutLinks(name), MAX_NAME))}”`;

/** Addresses as they are written where they must not be followed: `hxxps`, `[.]`, `[at]`. Quotes of the name do not end ours. */
const withoutLinks = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replaceAll(/[“”„"]/g, "'")
    .replaceAll(/:(?=\/)/g, '[:]')
    .replaceAll('@', '[at]')
    .split(' ')
    .map((word) => (/^\d+\.\d+$/.test(word) ? word : word.replaceAll(/[.。．｡](?=[^.\s])/g, '[.]')))
    .join(' ');
