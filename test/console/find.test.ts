import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { monthsLater } from '../../src/domain/calendar.ts';
import { AMENITIES } from '../../src/domain/description.ts';
import { brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { Browser, type Page } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
/** 200 characters without a space. */
const ENDLESS = 'W'.repeat(200);

let running: Running;
let brand: Browser;
/** Two spaces of a community of their own: 8 to 20, one hour, 100.00 and 900.00. */
let cheap: number;
let community: number;
let days = 30;
/** A date without bookings. */
const freshDate = (): PlainDate => {
  days += 1;
  return inDays(days);
};

beforeAll(async () => {
  running = await startDemo();
  const [northwind] = running.demo.brands;
  const { catalogue } = running.service.core.commands;
  const owner = accepted(await catalogue.addCommunity({ name: 'نادي الواحة', timeZone: 'Asia/Riyadh' }, CONTEXT));
  community = owner.communityId;
  const terms = { communityId: community, windowStart: 8, windowEnd: 20, durationHours: 1, answerHours: 72 };
  cheap = accepted(await catalogue.addSpace({ ...terms, name: '👩‍👩‍👧‍👦 Loft', eventFee: cents(100_00) }, CONTEXT));
  accepted(await catalogue.addSpace({ ...terms, name: ENDLESS, eventFee: cents(900_00) }, CONTEXT));
  brand = new Browser(running.url);
  await brand.signIn(northwind.user);
});
afterAll(() => running.stop());

const textOf = (html: string) => html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
const unescaped = (url: string) => url.replaceAll('&amp;', '&');
const linksOf = ({ text }: Page, part: string) =>
  [...text.matchAll(/<a\b[^>]*href="([^"]*)"[^>]*>(.*?)<\/a>/gs)]
    .map(([, href = '', label = '']) => ({ href: unescaped(href), label: textOf(label).trim() }))
    .filter(({ href }) => href.includes(part));
const backOf = ({ text }: Page) => unescaped(/<p class="back"><a href="([^"]*)"/.exec(text)?.[1] ?? '');
const chosenOf = ({ text }: Page) => /value="(\d+)"[^>]* checked/.exec(text)?.[1];
const namesOf = (page: Page) =>
  linksOf(page, '/console/find/').filter(({ label }) => !/^\d\d:|more$|^Shortlist/.test(label));
/** The text of the tile of an hour. */
const tileOf = ({ text }: Page, hour: number) =>
  textOf(
    new RegExp(`<li><label class="slot[^>]*><input[^>]*value="${hour}".*?</li>`, 's').exec(text)?.[0] ?? '',
  ).trim();

async function request(by: number, date: PlainDate, startHour: number, message = 'Forty guests.', space = cheap) {
  const details = { spaceId: spaceId(space), date, startHour, message };
  const { bookings } = running.service.core.commands;
  return accepted(await bookings.request({ brandId: brandId(by), details }, CONTEXT)).bookingId;
}
const approve = async (bookingId: number) =>
  accepted(
    await running.service.core.commands.bookings.approve({ bookingId, communityId: communityId(community) }, CONTEXT),
  );

test('only brands that may read the reviews of a space see its rating and reviews', async () => {
  const [northwind, juniper] = running.demo.brands;
  const [harbour, union] = running.demo.communities;
  const seen = async (user: typeof northwind.user) => {
    const own = new Browser(running.url);
    await own.signIn(user);
    const found = [harbour.spaces[0], union.spaces[0]].map(async ({ id, name }) => {
      const list = await own.open(`/console/find?date=${freshDate()}&name=${encodeURIComponent(name)}`);
      const page = textOf((await own.open(`/console/find/${id}`)).text);
      const row = textOf(/<li class="find.*?<\/li>/s.exec(list.text)?.[0] ?? '');
      return [/Rated [\d.]+ \(\d+ reviews?\)/.exec(row)?.[0], /Light, space, quiet|Lovely yard/.exec(page)?.[0]];
    });
    return Promise.all(found);
  };
  const none = [undefined, undefined];
  // Each has completed a booking with one of the two communities (docs/decisions/bookings.md).
  expect(await seen(northwind.user)).toEqual([['Rated 5.0 (1 review)', 'Light, space, quiet'], none]);
  expect(await seen(juniper.user)).toEqual([none, ['Rated 4.0 (1 review)', 'Lovely yard']]);
});

test('a day without a free time has no active button, and says why', async () => {
  const date = freshDate();
  const open = async () => (await brand.open(`/console/find/${cheap}?date=${date}`)).text;
  const button =
    /<button class="button"([^>]*)>Request booking<\/button>(?:<p class="hint" id="none-free">(.*?)<\/p>)?/;
  const ids: number[] = [];
  for (let hour = 8; hour < 20; hour += 1) ids.push(await request(2, date, hour));
  const inactive = ' disabled aria-describedby="none-free"';
  const waits = 'No time is free on this day: requested by another brand, which waits for an answer.';
  expect(button.exec(await open())?.slice(1)).toEqual([inactive, `${waits} Choose another day.`]);
  await approve(ids[0] ?? 0);
  // The times have different reasons, which are shown at each.
  expect(button.exec(await open())?.slice(1)).toEqual([inactive, 'No time is free on this day. Choose another day.']);
  // Closed times are told from booked ones.
  const { commands } = running.service.core;
  const closed = freshDate();
  const day = { communityId: communityId(community), from: closed, to: closed, start: 0, until: 24 };
  accepted(await commands.closures.add({ ...day, kind: 'Closure', spaceIds: [spaceId(cheap)] }, CONTEXT));
  expect((await brand.open(`/console/find/${cheap}?date=${closed}`)).text).toMatch(
    /No time is free on this day: the community has closed it\. Choose another day\.<\/p>/,
  );
  const by = { kind: 'Brand', id: brandId(2) } as const;
  accepted(await commands.bookings.cancel({ bookingId: ids[3] ?? 0, by }, CONTEXT));
  expect(button.exec(await open())?.slice(1)).toEqual(['', undefined]);
});

describe('navigating from Find to a space and back', () => {
  test('the clicked hour is selected, other hours are links, and the back link keeps the filter', async () => {
    const date = freshDate();
    const list = await brand.open(`/console/find?date=${date}&community=${community}&max=1,500&hour=&name=loft`);
    const hours = linksOf(list, `/console/find/${cheap}?`);
    const ten = hours.find(({ label }) => label === '10:00');
    const page = await brand.request(ten?.href ?? '', { headers: { referer: list.url.href } });
    expect(page.status).toBe(200);
    expect(chosenOf(page)).toBe('10');

    // Six at first, around the chosen hour; the others on request.
    const near = async (hour: string) => {
      const { text } = await brand.open(`/console/find?date=${date}&community=${community}&hour=${hour}&name=loft`);
      return [...text.matchAll(/<a class="hour"[^>]*>([^<]+)<\/a>/g)].map(([, label]) => label);
    };
    expect(await near('')).toEqual(['08:00', '09:00', '10:00', '11:00', '12:00', '13:00']);
    expect(await near('17')).toEqual(['14:00', '15:00', '16:00', '17:00', '18:00', '19:00']);
    expect(list.text).toContain('and 6 more');

    // The link stays after viewing another day and after a refused form.
    const day = linksOf(page, `/console/find/${cheap}?`).find(({ label }) => label.includes('free'));
    const nextDay = await brand.open(day?.href ?? '');
    const refused = await brand.send(page, `/console/find/${cheap}`, { startHour: '10', message: 'm'.repeat(501) });
    for (const shown of [page, nextDay, refused]) {
      const back = await brand.open(backOf(shown));
      expect(back.url.pathname).toBe('/console/find');
      expect(Object.fromEntries(back.url.searchParams)).toMatchObject({
        date,
        community: String(community),
        name: 'loft',
      });
      expect(namesOf(back).map(({ label }) => label)).toEqual(['👩‍👩‍👧‍👦 Loft']);
    }
    expect(chosenOf(nextDay)).toBe('10');
    expect(chosenOf(refused)).toBe('10');
  });

  test('the longest search that the form can make is not lost', async () => {
    const fields = {
      guests: '100000',
      place: '語'.repeat(200),
      date: 'Wed 25 November 2026',
      hour: '23',
      max: '99,999,999,999.99',
      date2: 'Wed 25 November 2026',
      date3: 'Wed 25 November 2026',
      month: monthsLater(freshDate().slice(0, 7), 1),
      weekday: 'Wednesday',
      kind: 'PrivateDining',
      community: String(community),
      name: '語'.repeat(200),
      within: '100',
      sort: 'rating',
    };
    const form = await brand.open('/console/find');
    for (const name of ['place', 'name']) expect(form.text).toMatch(new RegExp(`name="${name}"[^>]* maxlength="200"`));
    const query = new URLSearchParams(fields);
    for (const amenity of AMENITIES) query.append('amenity', amenity);
    const list = `/console/find?${query}`;
    const page = await brand.request(`/console/find/${cheap}`, { headers: { referer: `${running.url}${list}` } });
    expect(backOf(page)).toBe(list);
    // The month of the space is opened from an address that has the way back, and has it, too: a request has both.
    const [month] = linksOf(page, `/console/find/${cheap}/month`);
    const opened = await brand.request(month?.href ?? '', { headers: { referer: `${running.url}${month?.href}` } });
    expect(opened.status).toBe(200);
    // Proxies take addresses of up to 8 KiB.
    expect(month?.href.length).toBeLessThan(8_000);
    expect(backOf(await brand.open(backOf(opened)))).toBe(list);
  });

  test('a back link to another site is ignored', async () => {
    for (const via of [
      '//evil.example',
      'https://evil.example',
      '/console/find?date="><script>',
      '/console/sign-out',
    ]) {
      const page = await brand.open(`/console/find/${cheap}?via=${encodeURIComponent(via)}`);
      expect(backOf(page), via).toMatch(/^\/console\/find(\?date=[\d-]+)?$/);
    }
  });
});

describe('the filter', () => {
  const found = async (query: string) => {
    const page = await brand.open(`/console/find?${query}`);
    return { page, names: namesOf(page).map(({ label }) => label) };
  };

  test('finds by community, price, hour and name', async () => {
    const date = freshDate();
    await request(2, date, 12);
    const of = `date=${date}&community=${community}`;
    expect((await found(of)).names).toEqual(['👩‍👩‍👧‍👦 Loft', ENDLESS]);
    expect((await found(`${of}&max=115`)).names).toEqual(['👩‍👩‍👧‍👦 Loft']);
    expect((await found(`${of}&max=114.99`)).names).toEqual([]);
    expect((await found(`${of}&hour=12`)).names).toEqual([ENDLESS]);
    expect((await found(`${of}&name=www`)).names).toEqual([ENDLESS]);
    // A character like any other.
    expect((await found(`${of}&name=%25`)).names).toEqual([]);
    expect((await found(`date=${date}&hour=10`)).names.length).toBeGreaterThan(2);
  });

  test('finds a name by its words, ignoring case, accents and order', async () => {
    const { catalogue } = running.service.core.commands;
    const terms = { communityId: communityId(2), windowStart: 8, windowEnd: 20, durationHours: 1, answerHours: 72 };
    accepted(await catalogue.addSpace({ ...terms, name: 'Salle Éléonore', eventFee: cents(950_00) }, CONTEXT));
    const called = async (name: string) => (await found(new URLSearchParams({ name }).toString())).names;
    for (const name of ['éléonore', 'ELEONORE salle', 'lle éLéo', 'ｓａｌｌｅ'])
      expect(await called(name), name).toEqual(['Salle Éléonore']);
    // A text without comparable characters matches no name.
    for (const name of ['salle www', '\u200b', '.*', "' OR 1=1 --"]) expect(await called(name), name).toEqual([]);
  });

  test('an empty result suggests changed filters, each with its number of results', async () => {
    const date = freshDate();
    await request(2, date, 12);
    const { page, names } = await found(`date=${date}&community=${community}&hour=12&max=200`);
    expect(names).toEqual([]);
    const ways = linksOf(page, '/console/find?');
    const way = (label: RegExp) => ways.find((one) => label.test(one.label));
    expect(way(/any start time.*1 space/i)?.href).not.toContain('hour=');
    expect(way(/any price.*1 space/i)?.href).not.toContain('max=');
    expect(way(/all communities/i)?.href).not.toContain('community=');
    for (const { href } of ways) expect((await found(href.split('?')[1] ?? '')).names.length, href).toBeGreaterThan(0);
    // The next day on which it is free.
    expect(ways.some(({ href }) => new URLSearchParams(href.split('?')[1]).get('date') === inDays(days + 1))).toBe(
      true,
    );
  });

  test.each([
    ['date', '2026-02-30', 'There is no 30 February 2026'],
    ['date', '03/04/2030', 'can be read in two ways'],
    ['date', '2020-01-01', 'today or a later date'],
    ['date', 'soon', 'such as'],
    ['max', '1.234', 'such as 1,234.50'],
    ['hour', '24', 'start time'],
    ['community', '999', 'community'],
  ])('an invalid %s “%s” is reported and kept, and no results are shown', async (name, value, problem) => {
    const { page, names } = await found(new URLSearchParams({ [name]: value }).toString());
    const [, error = ''] = new RegExp(`id="${name}-error"[^>]*>(.*?)</p>`, 's').exec(page.text) ?? [];
    expect(textOf(error)).toContain(problem);
    // A valid date is shown in the usual format.
    if (name === 'date' || name === 'max')
      expect(page.text).toContain(`value="${value === '2020-01-01' ? 'Wed 1 Jan 2020' : value}"`);
    expect([names, page.status]).toEqual([[], 422]);
  });

  test('offers no day after the year 9999', async () => {
    const page = await brand.open(`/console/find/${cheap}?date=9999-12-29&start=30`);
    const offered = linksOf(page, 'date=').map(({ href }) => new URLSearchParams(href.split('?')[1]).get('date'));
    expect([page.status, ...new Set(offered)]).toEqual([200, '9999-12-29', '9999-12-30', '9999-12-31']);
  });

  test('dates have the same format as on other pages and can be typed in several formats', async () => {
    const date = inDays(20);
    const shown = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(date));
    for (const typed of [date, shown, `Sunday, ${shown}`, date.split('-').reverse().join('.')]) {
      const { page } = await found(new URLSearchParams({ date: typed, community: String(community) }).toString());
      expect(/name="date"[^>]* value="([^"]*)"/.exec(page.text)?.[1], typed).toMatch(new RegExp(`^\\w{3} ${shown}$`));
    }
  });
});

describe('why an hour is closed', () => {
  test('is shown as a kind, without naming the other party', async () => {
    const date = freshDate();
    await request(2, date, 9, 'Theirs');
    await approve(await request(2, date, 10, 'Theirs'));
    await request(1, date, 11);
    await approve(await request(1, date, 12));
    const page = await brand.open(`/console/find/${cheap}?date=${date}`);
    expect([9, 10, 11, 12].map((hour) => tileOf(page, hour))).toEqual([
      '09:00 requested',
      '10:00 booked',
      '11:00 your request',
      '12:00 your booking',
    ]);
    expect(tileOf(page, 13)).toBe('13:00 to 14:00');
    expect(page.text).not.toContain('Theirs');
    expect(page.text).not.toContain(running.demo.brands[1].name);
  });

  test('an hour of today that has started is past', async () => {
    const zone = 'Asia/Riyadh';
    const { hour } = Temporal.Instant.fromEpochMilliseconds(Date.now()).toZonedDateTimeISO(zone);
    const { catalogue } = running.service.core.commands;
    const terms = { communityId: community, windowStart: 0, windowEnd: 23, durationHours: 1, answerHours: 1 };
    const always = accepted(await catalogue.addSpace({ ...terms, name: 'Always', eventFee: cents(1) }, CONTEXT));
    const page = await brand.open(`/console/find/${always}`);
    expect(tileOf(page, Math.min(hour, 22))).toMatch(/ past$/);
    accepted(await catalogue.closeSpace(always, CONTEXT));
    expect((await brand.open(`/console/find/${always}`)).text).toContain('not taking bookings');
  });

  test('is shown for the chosen hour, with the next day on which that hour is free', async () => {
    const date = freshDate();
    await request(2, date, 10);
    const page = await brand.open(`/console/find/${cheap}?date=${date}&start=10`);
    expect(chosenOf(page)).toBeUndefined();
    expect(textOf(page.text)).toMatch(/10:00 is not free on this day: requested/);
    const next = linksOf(page, 'start=10').find(({ label }) => label.startsWith('Next day'));
    expect(chosenOf(await brand.open(next?.href ?? ''))).toBe('10');
    const outside = await brand.open(`/console/find/${cheap}?date=${date}&start=23`);
    expect(textOf(outside.text)).toContain('23:00 is not a start time of this space');
    for (const start of ['x', '-1', '99'])
      expect((await brand.open(`/console/find/${cheap}?start=${start}`)).status).toBe(200);
  });
});

describe('Book again', () => {
  test('offers the same space, hour and message on a new date', async () => {
    const date = freshDate();
    const id = await request(1, date, 15, 'A tasting.\nForty guests.');
    expect((await brand.open(`/console/bookings/${id}`)).text).not.toContain('Book again');
    await brand.send(await brand.open(`/console/bookings/${id}/cancel`), `/console/bookings/${id}/cancel`);
    const [again] = linksOf(await brand.open(`/console/bookings/${id}`), 'again=');
    expect(again?.label).toBe('Book again');
    const page = await brand.open(again?.href ?? '');
    expect(chosenOf(page)).toBe('15');
    expect(page.text).toContain('A tasting.\nForty guests.</textarea>');
    expect(backOf(page)).toBe(`/console/bookings/${id}`);
    const offered = page.form(`/console/find/${cheap}`).body.get('date') ?? '';
    expect(offered > inDays(0)).toBe(true);
    // On another day, too.
    const day = linksOf(page, 'again=').find(({ label }) => label.includes('free'));
    expect((await brand.open(day?.href ?? '')).text).toContain('A tasting.\nForty guests.</textarea>');
    const done = await brand.send(page, `/console/find/${cheap}`, { startHour: '15' });
    expect(done.flash).toContain('Request sent.');
    expect(done.text).toContain('A tasting.\nForty guests.');
  });

  test('is offered only for completed bookings of the brand itself', async () => {
    expect(linksOf(await brand.open('/console/bookings/3'), 'again=3')).toHaveLength(1);
    const rival = new Browser(running.url);
    await rival.signIn(running.demo.brands[1].user);
    const theirs = await request(1, freshDate(), 9, 'Secret plans');
    const page = await rival.open(`/console/find/${cheap}?again=${theirs}`);
    expect(page.status).toBe(200);
    expect(page.text).not.toContain('Secret plans');
    expect(chosenOf(page)).toBeUndefined();
    // The brand’s booking of another space does not count either.
    const elsewhere = await brand.open(`/console/find/${cheap}?again=3`);
    expect(elsewhere.status).toBe(200);
    expect(elsewhere.text).not.toContain('The same as booking');
    expect(backOf(elsewhere)).toMatch(/^\/console\/find\?/);
  });

  test('suggests the next date on the same weekday on which the hour is free', async () => {
    const date = inDays(9);
    const id = await request(1, date, 16);
    await brand.send(await brand.open(`/console/bookings/${id}/cancel`), `/console/bookings/${id}/cancel`);
    await request(2, inDays(2), 16);
    const page = await brand.open(`/console/find/${cheap}?again=${id}`);
    expect(page.form(`/console/find/${cheap}`).body.get('date')).toBe(inDays(9));
  });
});

describe('bad input', () => {
  test('a date that does not exist books nothing, and the form keeps its input', async () => {
    const page = await brand.open(`/console/find/${cheap}?date=${freshDate()}`);
    const fields = { startHour: '10', message: 'My words', date: '2026-02-30' };
    const refused = await brand.send(page, `/console/find/${cheap}`, fields);
    expect(refused.status).toBe(422);
    expect(textOf(refused.text)).toContain('There is no 30 February 2026');
    expect(refused.text).toContain('My words</textarea>');
    // Whether it is free today, or past already.
    expect(linksOf(refused, 'start=10').length).toBeGreaterThan(5);
  });

  test('all errors are shown at once', async () => {
    const page = await brand.open(`/console/find/${cheap}?date=${freshDate()}`);
    const refused = await brand.send(page, `/console/find/${cheap}`, { message: 'm'.repeat(501) });
    for (const field of ['startHour', 'message']) {
      expect(refused.text).toContain(`href="#${field}"`);
      expect(refused.text).toContain(`id="${field}-error"`);
      expect(refused.text).toContain(`id="${field}"`);
    }
  });

  test('resubmitting a form with other values reports the result of the first submission and leaves it unchanged', async () => {
    const date = freshDate();
    const page = await brand.open(`/console/find/${cheap}?date=${date}`);
    const done = await brand.send(page, `/console/find/${cheap}`, { startHour: '9' });
    const [, id] = /bookings\/(\d+)/.exec(done.url.pathname) ?? [];
    const again = await brand.send(page, `/console/find/${cheap}`, { startHour: '14', message: 'One more' });
    expect(again.status).toBe(422);
    expect(again.flash).toContain('was already sent');
    expect(again.text).not.toContain('Idempotency');
    expect(again.text).toContain('One more</textarea>');
    expect(chosenOf(again)).toBe('14');
    expect(tileOf(again, 9)).toContain('your request');
    const second = await brand.send(again, `/console/find/${cheap}`, { startHour: '14' });
    expect(second.flash).toContain('Request sent.');
    expect(second.url.pathname).not.toContain(`/${id}`);
  });

  test('an hour taken in the meantime shows the kind of its booking', async () => {
    const date = freshDate();
    const page = await brand.open(`/console/find/${cheap}?date=${date}`);
    await request(2, date, 11);
    const refused = await brand.send(page, `/console/find/${cheap}`, { startHour: '11', message: 'Kept' });
    expect(refused.status).toBe(422);
    expect(textOf(refused.text)).toContain('11:00 is no longer free: requested by another brand');
    expect(refused.text).toContain('Kept</textarea>');
  });
});

describe('searching by more than a date', () => {
  const found = async (query: string) => {
    const page = await brand.open(`/console/find?${query}`);
    return { page, names: namesOf(page).map(({ label }) => label) };
  };
  const of = (query: string) => `community=${community}&name=loft&${query}`;

  beforeAll(async () => {
    const { catalogue } = running.service.core.commands;
    const wanted = { seated: 40, kind: 'Loft', amenities: ['Wifi', 'Piano'] } as const;
    accepted(await catalogue.describeSpace({ spaceId: spaceId(cheap), wanted }, CONTEXT));
    const coordinates = { latitude: 24.7, longitude: 46.7 };
    const address = { street: 'Palm Street 3', city: 'Riyadh', country: 'SA' };
    const house = { communityId: communityId(community), wanted: { coordinates, address } };
    accepted(await catalogue.describeCommunity(house, CONTEXT));
  });

  test('finds by guests, kind, amenities and place', async () => {
    const loft = ['👩‍👩‍👧‍👦 Loft'];
    expect((await found(of('guests=40'))).names).toEqual(loft);
    expect((await found(of('guests=41'))).names).toEqual([]);
    expect((await found(of('kind=Loft&amenity=Wifi&amenity=Piano'))).names).toEqual(loft);
    expect((await found(of('amenity=Wifi&amenity=Parking'))).names).toEqual([]);
    expect((await found(of('place=palm+riyadh'))).names).toEqual(loft);
    expect((await found(of('place=paris'))).names).toEqual([]);
    const near = await found(of('place=24.6,+46.7&within=50'));
    expect(near.names).toEqual(loft);
    expect(textOf(near.page.text)).toContain('11.1 km away');
    expect((await found(of('place=24.6,46.7&within=5'))).names).toEqual([]);
  });

  test('finds what is free on one of several dates, or on any Saturday of a month', async () => {
    const [first, second] = [freshDate(), freshDate()];
    for (let hour = 8; hour < 20; hour += 1) await request(2, first, hour);
    const either = await found(of(`date=${first}&date2=${second}&hour=12`));
    expect(linksOf(either.page, `/console/find/${cheap}?date=`).map(({ href }) => href)).toEqual(
      [1, 2].map(() => `/console/find/${cheap}?date=${second}&start=12`),
    );
    const month = inDays(400).slice(0, 7);
    const saturdays = await found(of(`month=${month}&weekday=Saturday&hour=12`));
    const days = linksOf(saturdays.page, `/console/find/${cheap}?date=${month}`).map(({ label }) => label);
    expect(days.slice(1).length).toBeGreaterThan(3);
    expect(days.slice(1).every((label) => label.startsWith('Sat '))).toBe(true);
    expect(textOf(saturdays.page.text)).toContain('Free on a Saturday in ');
  });

  test('keeps every field in the addresses of its links, and in its form', async () => {
    const date = freshDate();
    const query = of(`guests=41&date=${date}&hour=10&max=500.00&kind=Loft&amenity=Wifi&amenity=Piano&sort=price`);
    const { page } = await found(query);
    const [way] = linksOf(page, '/console/find?').filter(({ label }) => label.startsWith('Any number of guests'));
    const asked = new URLSearchParams(query);
    asked.delete('guests');
    expect([...new URLSearchParams(way?.href.split('?')[1])].toSorted()).toEqual([...asked].toSorted());
    for (const field of [
      'guests" name="guests" type="number" value="41"',
      'value="Wifi" checked',
      'value="price" selected',
    ])
      expect(page.text).toContain(field);
  });

  test.each([
    ['guests', '0', 'whole number, 1 to 100000'],
    ['guests', '-1', 'whole number, 1 to 100000'],
    ['guests', '1000000000', 'whole number, 1 to 100000'],
    ['place', '91,0', 'latitude of -90 to 90'],
    ['amenity', 'Helipad', 'amenities of the list'],
    ['kind', 'Castle', 'one of the list'],
    ['month', '2027-13', 'a month such as'],
    ['weekday', 'Saturday', 'Choose a month'],
    ['weekday', 'Caturday', 'one of the list'],
    ['sort', 'distance', 'coordinates'],
    ['sort', 'beauty', 'one of the list'],
    ['date2', '2026-02-30', 'There is no 30 February 2026'],
  ])('a wrong %s “%s” is reported', async (name, value, problem) => {
    const { page, names } = await found(new URLSearchParams({ [name]: value }).toString());
    const [, error = ''] = new RegExp(`id="${name}-error"[^>]*>(.*?)</p>`, 's').exec(page.text) ?? [];
    expect(textOf(error)).toContain(problem);
    expect([names, page.status]).toEqual([[], 422]);
  });
});

describe('the free days of a month', () => {
  /** What the cell of a day says. */
  const cellOf = ({ text }: Page, date: PlainDate) =>
    textOf(new RegExp(`<td[^>]*><a href="[^"]*date=${date}.*?</td>`, 's').exec(text)?.[0] ?? '').trim();
  const weekday = (date: PlainDate) =>
    new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' }).format(new Date(date)).replace(',', '');

  test('say how many start times are free, and lead to the day', async () => {
    const month = inDays(200).slice(0, 7);
    const [full, few, free] = ['10', '11', '12'].map((day) => `${month}-${day}` as PlainDate);
    if (full === undefined || few === undefined || free === undefined) throw new Error('There are three days');
    for (let hour = 8; hour < 20; hour += 1) await request(2, full, hour);
    for (let hour = 8; hour < 18; hour += 1) await request(2, few, hour);
    const space = await brand.open(`/console/find/${cheap}?date=${free}&start=10`);
    const [link] = linksOf(space, '/month?');
    const page = await brand.open(link?.href ?? '');
    const number = (date: PlainDate) => `${weekday(date)}, ${Number(date.slice(8))}`;
    expect([full, few, free].map((date) => cellOf(page, date))).toEqual([
      `${number(full)} none free`,
      `${number(few)} only 2 free`,
      `${number(free)} 12 free`,
    ]);
    const day = linksOf(page, `date=${free}`).at(-1);
    expect(chosenOf(await brand.open(day?.href ?? ''))).toBe('10');
    expect(backOf(page)).toContain(`/console/find/${cheap}?`);
  });

  test('go from this month to five years ahead', async () => {
    const months = async (month: string) =>
      linksOf(await brand.open(`/console/find/${cheap}/month?month=${month}`), '/month?').map(({ href }) =>
        new URLSearchParams(href.split('?')[1]).get('month'),
      );
    // Where the space is, it may be another month than here.
    const [next = ''] = await months('');
    const now = monthsLater(next ?? '', -1);
    expect(await months(now)).toEqual([next]);
    expect(await months(inDays(100).slice(0, 7))).toHaveLength(2);
    expect(await months(`${Number(now.slice(0, 4)) + 5}${now.slice(4)}`)).toHaveLength(1);
    const wrong = await brand.open(`/console/find/${cheap}/month?month=2027-13`);
    expect([wrong.status, textOf(wrong.text)]).toEqual([422, expect.stringContaining('“2027-13” is not a month')]);
    expect((await brand.open('/console/find/99999/month')).status).toBe(404);
  });
});
