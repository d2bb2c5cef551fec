import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Collection, DocumentStore, Documents } from '../../src/document-store/document-store.ts';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import type { Running } from './console.fixture.ts';
import { type PageOf, startBusyPages } from './pages.ts';

/** Documents that may be read for each row of a page. */
const PER_ROW = 5;
/** Documents that a page may read however few rows it has: the session, the account and its names, the thing that it is about. */
const ANYWAY = 20;
/** Cancelled bookings that a page with a decision reads to suggest reasons. It shows each reason once, so they may be few. */
const FOR_REASONS = 24;

/** The documents read, by collection. */
const read = new Map<string, number>();

/** Counts every document that a store hands out, and all that a query finds, though its reader may stop early. */
function countReads(store: DocumentStore): void {
  const open = store.open.bind(store);
  store.open = async <D extends object>(collection: Collection<D>): Promise<Documents<D>> => {
    const documents = await open(collection);
    const name = collection.name.split('@')[0] ?? '';
    const counted = <T extends object>(found: readonly T[]): readonly T[] => {
      read.set(name, (read.get(name) ?? 0) + found.length);
      return found;
    };
    return {
      ...documents,
      async get(key) {
        const found = await documents.get(key);
        counted(found === undefined ? [] : [found]);
        return found;
      },
      getMany: async (keys) => [...counted(await documents.getMany(keys))],
      async *find(query) {
        yield* counted(await Array.fromAsync(documents.find(query)));
      },
      async *pages(query) {
        yield counted((await Array.fromAsync(documents.pages(query))).flat());
      },
    };
  };
}

vi.mock('../../src/engines.ts', async (original) => {
  const engines = await original<typeof import('../../src/engines.ts')>();
  return {
    ...engines,
    openStores: async (...args: Parameters<typeof engines.openStores>) => {
      const stores = await engines.openStores(...args);
      countReads(stores.documents);
      return stores;
    },
  };
});

/** What the pages of every kind show besides their first view: other filters, periods, orders and later pages. */
const MORE: readonly (readonly [who: 'community' | 'brand', path: string])[] = [
  ['community', 'inbox?sort=date'],
  ['community', 'inbox?space=5&min=1&max=100000'],
  ['community', `inbox?from=${inDays(1)}&to=${inDays(40)}&sort=date`],
  ['community', 'bookings?when=all&status=Declined'],
  ['community', 'bookings?when=all&status=Withdrawn'],
  ['community', 'bookings?when=past&status=Completed'],
  ['community', 'bookings?q=room'],
  ['community', 'bookings?q=room+lefevre'],
  ['community', 'bookings?q=lefevre'],
  ['community', `calendar/${inDays(3)}?space=5`],
  ['community', 'calendar?space=5'],
  ['community', 'reviews?rating=2'],
  ['community', 'charges?by=approval'],
  ['brand', 'bookings?q=room'],
  ['brand', 'bookings?when=all&status=Declined'],
  ['brand', 'charges?by=approval'],
];

let running: Running;
let pages: readonly PageOf[];
const browsers = new Map<string | undefined, Browser>();

beforeAll(async () => {
  // Mails are made at any time, and read, too.
  ({ running, pages } = await startBusyPages({ MAIL_INBOX: 'false' }));
}, 120_000);
afterAll(() => running.stop());

async function browserOf(user: PageOf['user']): Promise<Browser> {
  const known = browsers.get(user?.email);
  if (known !== undefined) return known;
  const browser = new Browser(running.url);
  if (user !== undefined) await browser.signIn(user);
  browsers.set(user?.email, browser);
  return browser;
}

/** The rows of lists and tables, the entries of a calendar and the options of choices. */
const rowsOf = (text: string): number =>
  text.slice(text.indexOf('<main')).match(/<(?:tr|li|article|option)[ >]/g)?.length ?? 0;

test('no page reads more than five times the rows it shows', { timeout: 120_000 }, async () => {
  const opened = async ({ name, user, path }: Pick<PageOf, 'name' | 'user' | 'path'>) => {
    const browser = await browserOf(user);
    read.clear();
    const page = await browser.open(path);
    // A search compares its words with every name, which no index answers.
    if (/q=|name=/.test(path)) for (const names of ['spaces', 'brands', 'communities']) read.delete(names);
    const total = [...read.values()].reduce((sum, count) => sum + count, 0);
    const rows = rowsOf(page.text);
    const forReasons = page.text.includes('<datalist id="reasons">') ? FOR_REASONS : 0;
    const isTooMuch = total > Math.max(ANYWAY, PER_ROW * rows) + forReasons;
    const next = /rel="next" href="([^"#]*)/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
    return { next, found: isTooMuch ? [`${name}: ${total} documents for ${rows} rows`, Object.fromEntries(read)] : [] };
  };
  const userOf = (who: string) => pages.find((page) => page.who === who)?.user;
  const all = [
    ...pages,
    ...MORE.map(([who, path]) => ({ name: `${who} ${path}`, user: userOf(who), path: `/console/${path}` })),
  ];
  const tooMuch: unknown[] = [];
  for (const page of all) {
    const { next, found } = await opened(page);
    tooMuch.push(...found);
    if (next === undefined) continue;
    const later = await opened({ ...page, name: `${page.name}, next page`, path: next });
    tooMuch.push(...later.found);
  }
  expect(tooMuch).toEqual([]);
});
