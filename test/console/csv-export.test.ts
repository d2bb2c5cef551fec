import { type IncomingMessage, request } from 'node:http';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { DETAIL_LABELS } from '../../src/contract/booking.ts';
import type { Account } from '../../src/domain/account.ts';
import { BOOKING_DETAILS } from '../../src/domain/booking-details.ts';
import { brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { subjectOf } from '../../src/domain/personal-text.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser, type Page } from '../browser.ts';
import { eventually } from '../eventually.ts';
import { CONTEXT, type RunningService, runServiceAt } from '../running-service.fixture.ts';

const password = 'correct horse battery';
const NAMES = ['=HYPERLINK("x")', 'Loft, "upper"\r\nfloor', '\u{feff}+1', '東京；カフェ'];

let service: RunningService;
let url: string;
let house: { readonly id: number; readonly account: Account };
let guestAccount: Account;
let community: Browser;
let brand: Browser;
/** All bookings of the community, and of another one. */
const ids: number[] = [];
let foreign: number;
/** A booking of the brand at the other community. */
let inTokyo: number;

beforeAll(async () => {
  const at = await runServiceAt();
  ({ service, url } = at);
  await at.listen();
  house = await service.community('Europe/Berlin', 'House');
  const guest = await service.brand('=cmd|calc');
  guestAccount = guest.account;
  const request = (id: number, space: number, day: number, startHour: number) =>
    service.core.commands.bookings.request(
      {
        brandId: brandId(id),
        details: {
          spaceId: spaceId(space),
          date: `2026-12-${day}` as PlainDate,
          startHour,
          message: `@${startHour}\nline 2`,
        },
      },
      CONTEXT,
    );
  for (const name of NAMES) {
    const space = await service.space(house, { name, durationHours: 1, eventFee: cents(1_999) });
    for (let day = 10; day < 14; day += 1) {
      const made = await Promise.all(Array.from({ length: 13 }, (_, hour) => request(guest.id, space, day, 9 + hour)));
      ids.push(...made.map((one) => accepted(one).bookingId));
    }
  }
  const elsewhere = await service.space(await service.community('Asia/Tokyo', 'Elsewhere'), { durationHours: 1 });
  foreign = accepted(await request((await service.brand('Other')).id, elsewhere, 12, 10)).bookingId;
  inTokyo = accepted(await request(guest.id, elsewhere, 12, 11)).bookingId;
  const { bookings } = service.core.commands;
  for (const bookingId of ids.slice(0, 12))
    accepted(await bookings.approve({ bookingId, communityId: communityId(house.id) }, CONTEXT));
  for (const bookingId of ids.slice(0, 4)) accepted(await bookings.cancel({ bookingId, by: house.account }, CONTEXT));
  [community, brand] = [await signedIn(house.account), await signedIn(guest.account)];
}, 60_000);
afterAll(() => service.stop());

async function signedIn(account: Account): Promise<Browser> {
  const email = `${account.kind}@csv.example`.toLowerCase();
  accepted(await service.core.users.add({ email, password, accounts: [account] }, BY_OPERATOR));
  return Browser.signedIn(url, { email, password });
}

/** The file that a page links to, and its rows by column. */
async function fileOf(browser: Browser, page: Page) {
  const href = /href="([^"]*\.csv[^"]*)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const file = await browser.open(href);
  expect(file.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(file.headers.get('cache-control')).toBe('no-store');
  const rows: Record<string, string>[] = parse(file.text, { columns: true, bom: true });
  return { file, rows: rows.slice(0, -1), total: rows.at(-1) ?? {} };
}

/** The numbers of the bookings on all pages of a list. */
async function listed(browser: Browser, path: string): Promise<number[]> {
  const numbers: number[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const { text } = await browser.open(next);
    numbers.push(
      ...[...text.matchAll(/<tr[^>]*>.*?\/console\/bookings\/(\d+)".*?<\/tr>/gs)].map(([, id]) => Number(id)),
    );
    next = /rel="next" href="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
  }
  return numbers;
}

test.each([
  ['all', '?when=all', 208, 'bookings-all-2026-12-01.csv'],
  ['a state', '?when=upcoming&status=Cancelled', 4, 'bookings-upcoming-2026-12-01.csv'],
  ['dates', '?from=2026-12-11&to=2026-12-11', 52, 'bookings-from-2026-12-11-to-2026-12-11.csv'],
  ['a name', `?q=${encodeURIComponent('東京')}`, 52, 'bookings-all-2026-12-01.csv'],
  ['a number', '?q=7', 1, 'bookings-all-2026-12-01.csv'],
])('the file of bookings holds all pages of its list: %s', async (_what, query, count, name) => {
  const path = `/console/bookings${query}`;
  const { file, rows, total } = await fileOf(community, await community.open(path));
  expect(file.headers.get('content-disposition')).toBe(`attachment; filename="${name}"`);
  const numbers = rows.map(({ Booking }) => Number(Booking));
  expect(numbers).toEqual(await listed(community, path));
  expect(numbers).toHaveLength(count);
  expect(numbers).not.toContain(foreign);
  expect(total).toMatchObject({ Booking: 'Total', Date: `${count} booking${count === 1 ? '' : 's'}` });
});

test('a spreadsheet reads names, hours and amounts as they are, and runs none of them', async () => {
  const { file, rows } = await fileOf(community, await community.open('/console/bookings?when=all'));
  expect(file.text.startsWith('Booking,Date,Start,End,Time zone,Space,Brand,Status,')).toBe(true);
  expect(new Set(rows.map(({ Space }) => Space))).toEqual(
    new Set([`'=HYPERLINK("x")`, 'Loft, "upper" floor', `'\u{feff}+1`, '東京；カフェ']),
  );
  // A new detail of bookings gets a column, too.
  const labels = BOOKING_DETAILS.map((field) => DETAIL_LABELS[field]);
  expect(Object.keys(rows[0] ?? {})).toEqual(expect.arrayContaining(labels));
  expect(rows.find(({ Booking }) => Booking === String(ids[0]))).toEqual({
    Booking: String(ids[0]),
    Date: '2026-12-10',
    Start: '09:00',
    End: '10:00',
    'Time zone': 'Europe/Berlin',
    Space: `'=HYPERLINK("x")`,
    Brand: "'=cmd|calc",
    Status: 'Cancelled',
    'Event fee': '19.99',
    'Service fee': '3.00',
    Total: '22.99',
    Currency: 'USD',
    Guests: '',
    Message: "'@9 line 2",
    Series: '',
  });
});

test('a brand sees the community of each booking, in lists and in their files', async () => {
  const page = await brand.open('/console/bookings?when=all&from=2026-12-12&to=2026-12-12');
  const rowOf = (id: number) => new RegExp(`<tr>(?:(?!<tr>).)*/console/bookings/${id}"`, 's').exec(page.text)?.[0];
  expect(page.text).toContain('<th scope="col">Community</th>');
  expect(rowOf(inTokyo)).toContain('<bdi>Elsewhere</bdi>');
  const inBerlin = ids.find((id) => rowOf(id) !== undefined) ?? 0;
  expect(rowOf(inBerlin)).toContain('<bdi>House</bdi>');
  const { file, rows } = await fileOf(brand, page);
  expect(file.text.startsWith('Booking,Date,Start,End,Time zone,Space,Community,Status,')).toBe(true);
  expect(rows.find(({ Booking }) => Booking === String(inTokyo))?.Community).toBe('Elsewhere');
  expect(rows.find(({ Booking }) => Booking === String(inBerlin))?.Community).toBe('House');
  for (const by of ['', '&by=approval']) {
    const charges = await brand.open(`/console/charges?month=2026-12${by}`);
    expect(charges.text).toContain('<bdi>House</bdi>');
    expect(new Set((await fileOf(brand, charges)).rows.map(({ Community }) => Community))).toEqual(new Set(['House']));
  }
});

test('the totals of earnings and charges are those of the page, on either basis', async () => {
  for (const by of ['', '&by=approval'])
    for (const [browser, name, kept] of [
      [community, 'earnings', 'Earnings'],
      [brand, 'charges', 'You paid'],
    ] as const) {
      const page = await browser.open(`/console/charges?month=2026-12${by}`);
      const { file, rows, total } = await fileOf(browser, page);
      const figures = [...page.text.matchAll(/<dt>([^<]*)<\/dt><dd>\$([-−\d.,]*)/g)].map(([, label, value]) => [
        label,
        value,
      ]);
      expect(file.headers.get('content-disposition')).toContain(`"${name}-2026-12${by && '-by-approval'}.csv"`);
      expect(Object.fromEntries(figures)).toEqual({
        Charged: total.Charged,
        Refunded: total.Refunded,
        [kept]: total[kept],
      });
      expect(total).toMatchObject({ Charged: '275.88', Refunded: '91.96', Currency: 'USD' });
      const sum = (column: string) =>
        rows.reduce((cents, row) => cents + Math.round(Number(row[column]) * 100), 0) / 100;
      for (const column of ['Charged', 'Refunded', kept]) expect(sum(column).toFixed(2), column).toBe(total[column]);
    }
});

test('a wrong filter shows its page, and no file', async () => {
  for (const path of [
    'bookings.csv?from=yesterday',
    'bookings.csv?from=2026-12-02&to=2026-12-01',
    'charges.csv?month=13',
  ]) {
    const { status, headers } = await community.open(`/console/${path}`);
    expect([status, headers.get('content-type'), headers.get('content-disposition')], path).toEqual([
      ...[422, 'text/html; charset=utf-8', null],
    ]);
  }
  // Without rows there is nothing to add up.
  const { file } = await fileOf(community, { text: 'href="/console/charges.csv?month=2020-01"' } as Page);
  expect(file.text.trim().split('\r\n')).toEqual([expect.stringContaining('Booking,Date,')]);
});

/** Replaces what is read of a list of bookings. @returns how many pages were read, and whether reading has ended */
function reading(pages: () => AsyncGenerator<Awaited<ReturnType<typeof page>>>) {
  const seen = { pages: 0, hasEnded: false };
  vi.spyOn(service.core.queries.bookings, 'wholeList').mockImplementationOnce(async function* () {
    try {
      for await (const one of pages()) {
        seen.pages += 1;
        yield one;
      }
    } finally {
      seen.hasEnded = true;
    }
  });
  return seen;
}

const page = async () =>
  (await service.core.queries.bookings.page(house.account, { direction: 'ascending', limit: 200 })).bookings.slice();

/** A client that has asked for a file, and takes nothing of it. */
async function askedFor(path: string, encoding: string): Promise<IncomingMessage> {
  const headers = { cookie: `console=${community.cookie('console')}`, 'accept-encoding': encoding };
  const client = request(`${url}${path}`, { headers }).end();
  const answer = await new Promise<IncomingMessage>((resolve) => client.once('response', resolve));
  return answer.pause();
}

test('an endless list is read as fast as its client takes it, beside other pages, and no more once the client has gone', async () => {
  const rows = await page();
  for (const encoding of ['identity', 'gzip']) {
    const seen = reading(async function* () {
      for (;;) yield rows;
    });
    const answer = await askedFor('/console/bookings.csv?when=all', encoding);
    expect((await community.open('/console/bookings')).status).toBe(200);
    // What the connection buffers, without compression, is a few megabytes.
    if (encoding === 'identity')
      await eventually(async () => {
        const before = seen.pages;
        for (let count = 0; count < 3; count += 1) await community.open('/console/bookings');
        expect(seen.pages).toBe(before);
      });
    answer.destroy();
    await eventually(() => expect(seen.hasEnded).toBe(true));
  }
});

test('a file that cannot be read to its end is broken off, so that it is not taken for a complete one', async () => {
  const rows = await page();
  const failing = (good: number) =>
    reading(async function* () {
      for (let count = 0; count < good; count += 1) yield rows;
      throw new Error('The store has gone');
    });
  failing(0);
  const early = await community.open('/console/bookings.csv');
  expect([early.status, early.headers.get('content-disposition')]).toEqual([500, null]);
  failing(20);
  await expect(community.open('/console/bookings.csv')).rejects.toThrow('terminated');
});

test('the texts of a brand that was forgotten read as erased', async () => {
  const [first] = ids;
  accepted(await service.core.commands.personalData.forget(subjectOf(guestAccount), CONTEXT));
  const { rows } = await fileOf(community, await community.open('/console/bookings?when=all'));
  expect(new Set(rows.map(({ Message }) => Message))).toEqual(new Set(['erased']));
  expect((await community.open(`/console/bookings/${first}`)).text).toContain('erased');
});
