import { type Account, accountInWords } from '../../domain/account.ts';
import { toTimestamp } from '../../domain/calendar.ts';
import { cutText } from '../../domain/cut-text.ts';
import type { Timestamp } from '../../domain/ids.ts';
import { namedText } from '../../html/html.ts';

/** Characters of a name in a mail to a person who is no member. */
const MAX_NAME = 60;

/**
 * A name in a mail to a person who is no member. Any member of an account can choose its name, for example one that reads like a message of this
 * service with an address to sign in at. So it is short and in quotes, and mail programs make no link of what is in it.
 */
export const foreignName = (name: string): string => `“${foreignText(name)}”`;

/** The same without quotes, for what is no name of an account. @param max how many characters of it */
export const foreignText = (text: string, max = MAX_NAME): string => namedText(cutText(withoutLinks(text), max));

/** How long the former name of an account stands beside the new one. */
const FORMER_NAME_MS = 24 * 3_600_000;

type AccountNames = {
  name(account: Account): Promise<string | undefined>;
  formerName(account: Account, since: Timestamp): Promise<string | undefined>;
};

/** The name of an account in a mail to a person who is no member. For a day after it was renamed, the former name stands beside it. */
export async function foreignAccountName(accounts: AccountNames, account: Account, now: number): Promise<string> {
  const name = foreignName((await accounts.name(account)) ?? accountInWords(account));
  const former = await accounts.formerName(account, toTimestamp(now - FORMER_NAME_MS));
  return former === undefined ? name : `${name} (until recently ${foreignName(former)})`;
}

/** Addresses as they are written where they must not be followed: `hxxps`, `[.]`, `[at]`. Quotes of the name do not end ours. */
const withoutLinks = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replaceAll(/(?!\u200d)\p{Cf}/gu, '')
    .replaceAll(/[“”„"]/g, "'")
    .replaceAll(/:(?=\S)/g, '[:]')
    .replaceAll('@', '[at]')
    .split(' ')
    .map((word) => (/^\d+\.\d+$/.test(word) ? word : word.replaceAll(/[.。．｡](?=[^.\s])/g, '[.]')))
    .join(' ');
