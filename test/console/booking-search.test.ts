import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReadableBooking } from '../../projections/bookings.ts';
import type { Account } from '../../src/domain/account.ts';
import { defined } from '../../src/domain/defined.ts';
import { type BookingId, brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { folded } from '../../src/domain/searched-text.ts';
import type { BookingStatus } from '../../src/domain/space-day.ts';
import type { BookingCursor } from '../../src/queries/booking-pages.ts';
import { accepted } from '../accepted.ts';
import { Browser, type Page } from '../browser.ts';
import { type EnginePair, enginePairs } from '../engine-pairs.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const LONG = 'W'.repeat(200);

/** The numbers of the bookings in the table of a page, from the top. */
const shown = ({ text }: Page) =>
  [...text.matchAll(/<tr[^>]*>.*?\/console\/bookings\/(\d+)".*?<\/tr>/gs)].map(([, id]) => Number(id));

/** The message shown instead of bookings. */
const said = ({ text }: Page) =>
  (/<div class="empty">.*?<p>(.*?)<\/p>/s.exec(text)?.[1] ?? '').replaceAll(/<[^>]*>/g, '').trim();

/** The value of the search field. */
const typed = ({ text }: Page, name = 'q') =>
  new RegExp(`<input id="${name}"[^>]*? type="(\\w+)" value="([^"]*)"`).exec(text)?.slice(1);

describe.each(enginePairs)('searching bookings on %s', (_, createPair) => {
  let pair: EnginePair;
  let running: Running;
  let community: Browser;
  let brand: Browser;
  const host: Account = { kind: 'Community', id: communityId(1) };
  const made = { spaces: new Map<string, number>(), brands: new Map<string, number>() };
  /** The booking numbers, by purpose. */
  const booked = new Map<string, BookingId>();

  const book = async (what: string, space: string, by: string, days: number, startHour = 10) => {
    const details = {
      spaceId: spaceId(made.spaces.get(space) ?? 0),
      date: inDays(days) as PlainDate,
      startHour,
    };
    const command = { brandId: brandId(made.brands.get(by) ?? 0), details };
    const { bookingId } = accepted(await running.service.core.commands.bookings.request(command, CONTEXT));
    booked.set(what, bookingId);
    return bookingId;
  };
  const numbers = (...what: string[]) => what.map((one) => Number(booked.get(one)));
  const search = (fields: Readonly<Record<string, string>>, by = community) =>
    by.open(`/console/bookings?${new URLSearchParams(fields)}`);

  beforeAll(async () => {
    pair = await createPair();
    running = await startDemo({ ...pair.settings, DEMO: 'true', LOG_LEVEL: 'silent' });
    const { demo, service } = running;
    const [harbour] = demo.communities;
    const [northwind] = demo.brands;
    made.brands.set('Northwind', northwind.id);
    const { catalogue } = service.core.commands;
    const terms = { windowStart: 9, windowEnd: 22, durationHours: 1, eventFee: cents(100_00), answerHours: 72 };
    const rooms = Array.from({ length: 30 }, (_, index) => `Room ${String(index).padStart(2, '0')}`);
    for (const name of ['Salle Éléonore', 'قاعة الاحتفالات الكبرى', LONG, 'Old Kitchen', 'Loft 100%', ...rooms]) {
      const added = await catalogue.addSpace({ ...terms, name, communityId: communityId(1) }, CONTEXT);
      made.spaces.set(name, accepted(added));
    }
    for (const name of ['Ölmühle Groß-Umstadt', 'شركة القهوة العربية', 'Roomy Tents'])
      made.brands.set(name, accepted(await catalogue.addBrand({ name }, CONTEXT)).brandId);
    await book('mill at salle', 'Salle Éléonore', 'Ölmühle Groß-Umstadt', 60);
    await book('mill at hall', 'قاعة الاحتفالات الكبرى', 'Ölmühle Groß-Umstadt', 61);
    await book('coffee at salle', 'Salle Éléonore', 'شركة القهوة العربية', 62);
    await book('northwind at salle', 'Salle Éléonore', 'Northwind', 63);
    await book('long', LONG, 'Northwind', 64);
    await book('kitchen', 'Old Kitchen', 'Northwind', 65);
    await book('percent', 'Loft 100%', 'Ölmühle Groß-Umstadt', 66);
    await Promise.all(rooms.map((name, index) => book(name, name, 'Roomy Tents', 70 + (index % 3), 9 + (index % 5))));
    await book('tents at salle', 'Salle Éléonore', 'Roomy Tents', 80);
    const [approved = 0] = numbers('coffee at salle');
    accepted(
      await service.core.commands.bookings.approve({ bookingId: approved, communityId: communityId(1) }, CONTEXT),
    );
    community = new Browser(running.url);
    await community.signIn(harbour.user);
    brand = new Browser(running.url);
    await brand.signIn(northwind.user);
  });
  afterAll(async () => {
    await running?.stop();
    await pair?.stop();
  });

  test('finds bookings by the name of the brand or space, ignoring case and accents', async () => {
    const mill = numbers('percent', 'mill at hall', 'mill at salle');
    for (const q of ['Ölmühle', 'olmuhle', 'ÖLMÜHLE GROSS', '  umstadt   ', 'gross-um', 'Ｕｍｓｔａｄｔ'])
      expect(shown(await search({ q })), q).toEqual(mill);
    const salle = numbers('tents at salle', 'northwind at salle', 'coffee at salle', 'mill at salle');
    for (const q of ['salle éléonore', 'ELEONORE', 'E\u0301leonore salle'])
      expect(shown(await search({ q })), q).toEqual(salle);
    expect(shown(await search({ q: 'القهوة' }))).toEqual(numbers('coffee at salle'));
    expect(shown(await search({ q: 'الاحتفالات' }))).toEqual(numbers('mill at hall'));
    expect(shown(await search({ q: LONG }))).toEqual(numbers('long'));
    // One word in each of the two names.
    expect(shown(await search({ q: 'salle olmuhle' }))).toEqual(numbers('mill at salle'));
    expect(shown(await search({ q: 'القهوة eleonore' }))).toEqual(numbers('coffee at salle'));
    const { text } = await search({ q: 'eleonore' });
    expect(text).toMatch(/<form class="search" method="get" action="\/console\/bookings"/);
  });

  test('combines with the filters for status, period and dates', async () => {
    expect(shown(await search({ q: 'salle', status: 'Approved' }))).toEqual(numbers('coffee at salle'));
    expect(shown(await search({ q: 'salle', from: inDays(61), to: inDays(62) }))).toEqual(numbers('coffee at salle'));
    expect(shown(await search({ q: 'salle', from: inDays(62) }))).toEqual(
      numbers('coffee at salle', 'northwind at salle', 'tents at salle'),
    );
    expect(shown(await search({ from: inDays(64), to: inDays(65) }))).toEqual(numbers('long', 'kitchen'));
    const none = await search({ q: 'salle', when: 'past', status: 'Completed' });
    expect(said(none)).toBe('There are no past completed bookings that match ‘salle’.');
    expect(none.text).toContain('>Search all bookings<');
    const empty = await search({ from: inDays(500), to: inDays(501), status: 'Pending' });
    expect(said(empty)).toMatch(/^There are no pending bookings from \w+ \d+ \w+ \d+ to \w+ \d+ \w+ \d+\.$/);
  });

  test('finds the same bookings as a scan of all, by names of either party or both', async () => {
    const { bookings, bookingSearch, spaces } = running.service.core.queries;
    const communities = new Map((await spaces.communities()).map((one) => [one.communityId, one.name]));
    const texts = ['room', 'room 1', 'tents 2', 'o', 'e l', 'salle', 'r o', 'harbour', 'tents salle', 'room salle'];
    for (const account of [host, { kind: 'Brand', id: brandId(made.brands.get('Northwind') ?? 0) }] as const) {
      const all = await Array.fromAsync(bookings.readableList(account));
      const namesOf = ({ spaceName, brandName, communityId: at }: ReadableBooking) =>
        [spaceName, account.kind === 'Community' ? brandName : (communities.get(at) ?? '')].map(folded);
      for (const text of texts)
        for (const status of [undefined, 'Pending', 'Approved'] satisfies (BookingStatus | undefined)[]) {
          const expected = all.filter(
            (one) =>
              (status === undefined || one.status === status) &&
              text.split(' ').every((word) => namesOf(one).some((name) => name.includes(word))),
          );
          const found: ReadableBooking[] = [];
          let after: BookingCursor | undefined;
          do {
            const asked = {
              text,
              direction: 'ascending',
              limit: 7,
              ...(status && { list: { status } }),
              ...defined({ after }),
            } as const;
            const page = await bookingSearch.page(account, asked);
            found.push(...page.bookings);
            after = page.next;
          } while (after !== undefined);
          const ids = (list: readonly ReadableBooking[]) => list.map(({ bookingId }) => bookingId);
          expect(ids(found), `${account.kind} ${text} ${status}`).toEqual(ids(expected));
        }
    }
  });

  test('pages through the results and keeps the search', async () => {
    const first = await search({ q: 'room' });
    expect(shown(first)).toHaveLength(30);
    const next = /rel="next" href="([^"]*)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(next).toContain('q=room');
    const second = await community.open(next);
    expect(shown(second)).toHaveLength(1);
    expect(typed(second)).toEqual(['text', 'room']);
    expect(new Set([...shown(first), ...shown(second)]).size).toBe(31);
  });

  test('finds a booking by number, and explains why a number is not in the list', async () => {
    const [id] = numbers('kitchen');
    // The last two with full-width characters, as a Japanese keyboard writes them.
    const wide = String(id).replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
    for (const q of [`#${id}`, `${id}`, `# 00${id}`, wide, `＃${wide}`])
      expect(shown(await search({ q })), q).toEqual([id]);
    const other = await search({ q: `#${id}`, status: 'Approved', when: 'upcoming' });
    expect(said(other)).toMatch(
      new RegExp(
        `^Booking #${id} is pending and takes place on .*: it is not among the upcoming approved bookings\\.$`,
      ),
    );
    expect(other.text).toContain(`>Open booking #${id}<`);
    expect(said(await search({ q: '#999999' }))).toBe('There is no booking #999999 of yours.');
    expect(said(await search({ q: '#12345678901234567890' }))).toBe(
      'There is no booking #12345678901234567890 of yours.',
    );
    // A booking of another brand does not exist for this brand.
    const [theirs] = numbers('percent');
    expect(said(await search({ q: `#${theirs}` }, brand))).toBe(`There is no booking #${theirs} of yours.`);
    // A number can also occur in a name; the booking with that number comes first.
    const [second] = numbers('Room 02');
    await running.service.core.commands.catalogue.addBrand({ name: `Studio ${second}` }, CONTEXT);
    expect(shown(await search({ q: String(second) }))[0]).toBe(second);
  });

  test('reports a text that occurs in no name, and keeps it', async () => {
    for (const q of ['_', '.*', "' OR 1=1 --", '#x', '\u0301', '$gt', '<b>', '٪']) {
      const page = await search({ q });
      expect([page.status, shown(page)], q).toEqual([200, []]);
      expect(said(page), q).toMatch(/^No spaces or brands match ‘.*’\.$/);
    }
    expect(typed(await search({ q: '<b>"' }))).toEqual(['text', '&lt;b&gt;&quot;']);
    // A percent sign is matched literally.
    expect(shown(await search({ q: '%' }))).toEqual(numbers('percent'));
    expect(said(await search({ q: '%' }, brand))).toBe('There are no bookings that match ‘%’.');
    expect(said(await search({ q: 'zzz' }, brand))).toBe('No spaces or communities match ‘zzz’.');
  });

  test('marks and keeps an invalid date, a reversed range and an overlong text', async () => {
    const wrong = await search({ q: 'salle', from: '2026-02-30', to: 'tomorrow' });
    expect([wrong.status, shown(wrong)]).toEqual([422, []]);
    expect(wrong.text).toMatch(/id="from-error".*?There is no 30 February 2026\./s);
    expect(wrong.text).toMatch(/id="to-error".*?Write a date such as 20 Nov 2026/s);
    expect([typed(wrong), typed(wrong, 'from'), typed(wrong, 'to')]).toEqual([
      ['text', 'salle'],
      ['text', '2026-02-30'],
      ['text', 'tomorrow'],
    ]);
    expect(wrong.text).toContain('No search yet');
    // The summary has the focus and links to each field. A search with errors cannot be narrowed either.
    expect(wrong.text).toMatch(/<div class="flash problem"[^>]* autofocus>.*Fix 2 fields/s);
    for (const name of ['from', 'to']) expect(wrong.text).toContain(`<li><a href="#${name}">`);
    expect(wrong.text).not.toContain('aria-label="Status"');
    const backwards = await search({ from: '2026-12-02', to: '2026-12-01' });
    expect(backwards.status).toBe(422);
    expect(backwards.text).toMatch(/id="to-error".*?The last day is before the first\./s);
    expect(typed(backwards, 'to')).toEqual(['text', 'Tue 1 Dec 2026']);
    const long = await search({ q: `${LONG}W` });
    expect(long.status).toBe(422);
    expect(long.text).toMatch(/id="q-error".*?Search for at most 200 characters\./s);
    expect(typed(long)).toEqual(['text', `${LONG}W`]);
    // Characters are counted as in names, and an overlong text does not make the page long.
    expect((await search({ q: '🎉'.repeat(200) })).status).toBe(200);
    expect((await search({ q: '🎉'.repeat(201) })).status).toBe(422);
    expect((await search({ q: 'x'.repeat(15_000) })).text.length).toBeLessThan(60_000);
  });

  test('a brand finds only its own bookings, by space and by community', async () => {
    expect(shown(await search({ q: 'salle' }, brand))).toEqual(numbers('northwind at salle'));
    expect(shown(await search({ q: 'harbour eleonore' }, brand))).toEqual(numbers('northwind at salle'));
    expect(shown(await search({ q: 'harbour', from: inDays(60) }, brand))).toEqual(
      numbers('northwind at salle', 'long', 'kitchen'),
    );
  });

  test('finds a renamed space by its new name and its old names', async () => {
    const { catalogue } = running.service.core.commands;
    const kitchen = made.spaces.get('Old Kitchen') ?? 0;
    for (const name of ['Bakery', 'Grande Cuisine', 'Bakery'])
      accepted(await catalogue.changeSpace({ spaceId: kitchen, terms: { name } }, CONTEXT));
    for (const q of ['bakery', 'cuisine', 'old kitchen'])
      expect(shown(await search({ q })), q).toEqual(numbers('kitchen'));
    expect(shown(await search({ q: 'old kitchen' }, brand))).toEqual(numbers('kitchen'));
  });

  test('reports that the search failed while the names cannot be read', async () => {
    const metadata = {
      at: '2026-12-01T11:00:00.000Z',
      actor: { kind: 'system', id: 's' },
      correlationId: 'c',
      schema: 99,
    };
    await running.service.core.events.append(
      'brand-99999',
      [{ id: randomUUIDv7(), type: 'BrandAdded', data: {}, metadata }],
      { expectedRevision: 'none' },
    );
    await eventually(async () => expect((await search({ q: 'zzz' })).status).toBe(503));
    const page = await search({ q: 'zzz' });
    expect(page.text).not.toContain('Nothing found');
    expect(page.text).toContain('Not available right now');
  });
});
