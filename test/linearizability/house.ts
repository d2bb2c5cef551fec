import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import type { Account } from '../../src/domain/account.ts';
import { brandId, cents, communityId } from '../../src/domain/ids.ts';
import { ALL_PERMISSIONS } from '../../src/domain/permissions.ts';
import { accepted } from '../accepted.ts';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT, startInProcess } from '../running-service.fixture.ts';
import type { Environment } from '../service/node-process.ts';
import type { Terms } from './space-day.ts';

/** A key for REST, and a user for the console. */
export type Party = {
  readonly name: string;
  readonly apiKey: string;
  readonly user: { readonly email: string; readonly password: string };
};

/** A community, its spaces, and two brands. */
export type House = {
  readonly community: Party;
  readonly brands: readonly [Party, Party];
  readonly spaces: readonly { readonly id: number; readonly terms: Terms }[];
};

const TERMS: readonly Terms[] = [
  { windowStart: 9, windowEnd: 21, durationHours: 2, gapHours: 0 },
  { windowStart: 9, windowEnd: 22, durationHours: 3, gapHours: 1 },
  { windowStart: 8, windowEnd: 20, durationHours: 1.5, gapHours: 0 },
  { windowStart: 10, windowEnd: 20, durationHours: 4, gapHours: 0 },
];
/** Days of a space: from a month ahead, within five years. */
const [FIRST_DAY, DAYS] = [40, 1_500];

/** Fills an empty store, with enough spaces for so many space-days. */
export async function addHouse(settings: Environment, spaceDays: number): Promise<House> {
  const { core, close } = await startInProcess(readConfig(settings), pino({ level: 'silent' }), {});
  const { catalogue, apiKeys } = core.commands;
  const party = async (name: string, account: Account): Promise<Party> => {
    const user = { email: `${name}@house.example`, password: `password of ${name}` };
    accepted(await core.users.add({ ...user, accounts: [account] }, CONTEXT));
    const issued = await apiKeys.issue({ account, permissions: ALL_PERMISSIONS, label: 'History' }, CONTEXT);
    return { name, apiKey: accepted(issued).key, user };
  };
  const brand = async (name: string): Promise<Party> => {
    const { brandId: id } = accepted(await catalogue.addBrand({ name }, CONTEXT));
    return party(name, { kind: 'Brand', id: brandId(id) });
  };
  try {
    // This zone never skips or repeats an hour.
    const added = accepted(await catalogue.addCommunity({ name: 'House', timeZone: 'Asia/Tokyo' }, CONTEXT));
    const owner = { communityId: communityId(added.communityId), eventFee: cents(10_000), answerHours: 72 };
    const spaces: { id: number; terms: Terms }[] = [];
    for (let index = 0; index < TERMS.length || index * DAYS < spaceDays; index += 1) {
      const terms = TERMS[index % TERMS.length];
      if (terms === undefined) throw new Error('No terms');
      const id = accepted(await catalogue.addSpace({ ...owner, ...terms, name: `Room ${index}` }, CONTEXT));
      spaces.push({ id, terms });
    }
    const community = await party('community', { kind: 'Community', id: owner.communityId });
    return { community, brands: [await brand('north'), await brand('south')], spaces };
  } finally {
    await close();
  }
}

/** The n-th space-day of a house. */
export function spaceDayOf({ spaces }: House, index: number) {
  const space = spaces[index % spaces.length];
  if (space === undefined) throw new Error('No space');
  return { ...space, date: inDays(FIRST_DAY + Math.floor(index / spaces.length)) };
}

/** The terms of the space of a space-day. */
export function termsIn({ spaces }: House, spaceDay: string): Terms {
  const space = spaces.find(({ id }) => spaceDay.startsWith(`${id} `));
  if (space === undefined) throw new Error(`No space: ${spaceDay}`);
  return space.terms;
}

/** What a form of the console needs: the cookie of a session, and the token of its forms. */
export type Session = { readonly cookie: string; readonly csrf: string };

export async function signIn(url: string, { user }: Party): Promise<Session> {
  const browser = new Browser(url);
  const { csrf } = await browser.signIn(user);
  return { cookie: `console=${browser.cookie('console')}`, csrf };
}
