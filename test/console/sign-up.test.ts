import { afterAll, beforeAll, expect, test } from 'vitest';
import { WEEKDAYS, weekdayOf } from '../../src/domain/calendar.ts';
import { brandId, cents, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser, type Page } from '../browser.ts';
import { inProcess, useDataDir } from '../cli/in-process.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT, runService } from '../running-service.fixture.ts';
import { temporaryDataDir } from '../service/service-process.ts';
import { type Running, startDemo } from './console.fixture.ts';

const PASSWORD = 'correct horse battery';
const DATE = inDays(40);

let running: Running;
beforeAll(async () => {
  running = await startDemo({ TRUST_PROXY: '127.0.0.1', SIGN_UPS_PER_DAY: '200' });
});
afterAll(() => running.stop());

const core = () => running.service.core;
let networks = 0;
/** A browser in a block of networks of its own. */
const newBrowser = () => {
  networks += 1;
  return new Browser(running.url, { 'x-forwarded-for': `10.${networks >> 8}.${networks % 256}.1` });
};

/** The text of the mails to an address, the latest first. */
async function mailsTo(address: string, count = 1): Promise<readonly string[]> {
  return eventually(async () => {
    const mails = ((await core().mail.inbox?.list()) ?? []).filter(({ to }) => to === address);
    expect(mails).toHaveLength(count);
    return mails.map(({ subject, text }) => `${subject}\n${text}`);
  });
}
const linkIn = (mail: string | undefined): string => /http\S+\/sign-up\/confirm\?link=\S+/.exec(mail ?? '')?.[0] ?? '';

async function signUp(fields: Readonly<Record<string, string>>, address = '/sign-up', browser = newBrowser()) {
  const form = await browser.open(address);
  expect(form.status).toBe(200);
  const typed = { brandName: 'Fern & Co', password: PASSWORD, ...fields };
  return { browser, page: await browser.send(form, '/sign-up', typed) };
}

const space = () => running.demo.communities[0].spaces[0];
const wanted = (hour: number) =>
  `/sign-up?space=${space().id}&date=${DATE}&startHour=${hour}&guests=20&message=${encodeURIComponent('Two long tables,\nplease')}`;

test('a planner without an account asks for a room, confirms the address, and is signed in with the request sent', async () => {
  const browser = newBrowser();
  expect((await browser.open('/console')).text).toContain('<a href="/sign-up">Sign up</a>');
  const form = await browser.open(wanted(14));
  for (const shown of ['14:00', '20', 'Two long tables,\nplease']) expect(form.text).toContain(shown);
  expect(form.text).toContain(`Your request for <bdi>${space().name}`);
  // The name of a space is for those whom its house has shown it to.
  const { catalogue } = core().commands;
  accepted(await catalogue.describeSpace({ spaceId: space().id, wanted: { published: null } }, BY_OPERATOR));
  expect((await browser.open(wanted(14))).text).not.toContain(space().name);
  accepted(await catalogue.describeSpace({ spaceId: space().id, wanted: { published: true } }, BY_OPERATOR));
  const before = await core().queries.operator.brands();
  const { page } = await signUp({ email: 'Fern@Example.com' }, wanted(14), browser);
  expect([page.url.pathname, page.title]).toEqual(['/sign-up/sent', 'Check your mail · Venue Booking']);
  expect(await core().queries.operator.brands()).toEqual(before);
  expect(await core().users.byEmail('fern@example.com')).toBeUndefined();

  const [mail] = await mailsTo('fern@example.com');
  for (const typed of ['Fern', 'long tables', PASSWORD]) expect(mail).not.toContain(typed);
  const link = linkIn(mail);
  // A scanner opens it, too.
  await newBrowser().open(link);
  const confirm = await browser.open(link);
  expect(confirm.text).toContain('Fern &amp; Co');
  expect(confirm.text).not.toContain('type="password"');
  const booking = await browser.send(confirm, '/confirm');
  expect(booking.url.pathname).toMatch(/^\/console\/bookings\/\d+$/);
  expect(booking.flash).toContain('your request was sent');
  expect(booking.text).toContain('Two long tables');
  const user = await core().users.byEmail('fern@example.com');
  expect(user).toMatchObject({ memberships: [{ role: 'Manager' }], emailConfirmedAt: expect.any(String) });

  // A double click sends the same form again.
  const again = await browser.send(confirm, '/confirm');
  expect([again.status, again.url.pathname]).toEqual([200, booking.url.pathname]);
  for (const used of [await browser.open(link), await newBrowser().open(link)]) {
    expect(used.status).toBe(404);
    expect(used.text).toContain('This link does not work');
  }
  const inbox = new Browser(running.url);
  await inbox.signIn(running.demo.communities[0].user);
  expect((await inbox.open('/console/inbox')).text).toContain('Fern &amp; Co');
  const history = await browser.open('/console/history');
  expect(history.text).toContain('was created');
  expect(history.text).toContain('became a Manager');
  expect((await newBrowser().signIn({ email: 'fern@example.com', password: PASSWORD })).status).toBe(200);
});

/** The first page after the link in the mail to an address was confirmed. */
const confirmed = async (browser: Browser, address: string) =>
  browser.send(await browser.open(linkIn((await mailsTo(address))[0])), '/confirm');

/** What the fields of the request show. */
const typedOn = (page: Page) => Object.fromEntries(page.form(`/console/find/${space().id}`).body);

test('a request that cannot be sent any more keeps what was typed, says why and offers other hours', async () => {
  const taken = await signUp({ email: 'late@example.com' }, wanted(18));
  const request = { spaceId: spaceId(space().id), date: DATE, startHour: 18 };
  const other = { brandId: brandId(running.demo.brands[0].id), details: request } as const;
  accepted(await core().commands.bookings.request(other, CONTEXT));
  const page = await confirmed(taken.browser, 'late@example.com');
  expect(page.url.pathname).toBe(`/console/find/${space().id}`);
  expect(page.url.search).toContain(`date=${DATE}`);
  expect(page.flash).toContain(
    'You are signed up, but your request was not sent. 18:00 is no longer free: requested by another brand, which waits for an answer. Choose another time.',
  );
  expect(page.flash).not.toContain('saved');
  expect(typedOn(page)).toMatchObject({ date: DATE, guests: '20', message: 'Two long tables,\nplease' });
  const sent = await taken.browser.send(page, `/console/find/${space().id}`, { startHour: '10' });
  expect(sent.url.pathname).toMatch(/^\/console\/bookings\/\d+$/);
  expect(sent.text).toContain('Two long tables');
});

test('a request without an hour leads to the room, with what was typed', async () => {
  const asked = `/sign-up?space=${space().id}&date=${inDays(41)}&guests=20&message=Tables`;
  const open = await signUp({ email: 'open@example.com' }, asked);
  const room = await confirmed(open.browser, 'open@example.com');
  expect([room.url.pathname, room.flash]).toEqual([
    `/console/find/${space().id}`,
    'You are signed up. Choose a time, and send your request.',
  ]);
  expect(typedOn(room)).toMatchObject({ date: inDays(41), guests: '20', message: 'Tables' });
  const none = await signUp({ email: 'none@example.com' });
  const start = await confirmed(none.browser, 'none@example.com');
  expect([start.url.pathname, start.flash]).toEqual(['/console/overview', 'You are signed up.']);
});

test('only hours that can be requested are offered, and others are refused in plain words, before a mail is sent', async () => {
  const { catalogue } = core().commands;
  const { id: communityId } = running.demo.communities[0];
  const terms = {
    name: 'Attic',
    eventFee: cents(10_000),
    durationHours: 4,
    windowStart: 9,
    windowEnd: 22,
    answerHours: 24,
  };
  const hours = { windowStart: 9, windowEnd: 22 };
  const week = WEEKDAYS.map((day) => (day === weekdayOf(inDays(30)) ? ('closed' as const) : hours));
  const limits = { noticeHours: 72, horizonDays: 60, week };
  const attic = accepted(await catalogue.addSpace({ ...terms, ...limits, communityId }, BY_OPERATOR));
  accepted(await catalogue.describeSpace({ spaceId: attic, wanted: { published: true, seated: 40 } }, BY_OPERATOR));
  const details = { spaceId: attic, date: inDays(31), startHour: 14 };
  accepted(await core().commands.bookings.request({ brandId: brandId(running.demo.brands[0].id), details }, CONTEXT));
  const browser = newBrowser();
  const address = (date: string, startHour = 10) =>
    `/sign-up?space=${attic}&date=${date}&startHour=${startHour}&message=Tables`;
  const hoursOn = (page: Page) =>
    [...page.text.matchAll(/<option value="(\d+)"/g)].map(([, hour]) => Number(hour)).filter((hour) => hour < 24);
  expect(hoursOn(await browser.open(address(inDays(32))))).toEqual([9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
  expect(hoursOn(await browser.open(address(inDays(31))))).toEqual([9, 10, 18, 19, 20, 21]);

  for (const [date, startHour, said] of [
    [inDays(-1), 10, /is over\. Choose another day/],
    [inDays(1), 10, /No time is available on .*Choose another day/],
    [inDays(30), 10, /No time is available on/],
    [inDays(90), 10, /No time is available on/],
    [inDays(31), 14, /14:00 is not available on .*Choose another time/],
    [inDays(31), 3, /03:00 is not available on/],
  ] as const) {
    const page = await browser.open(address(date, startHour));
    expect([page.status, page.flash]).toEqual([200, expect.stringMatching(said)]);
    expect(page.text).not.toMatch(/booked|requested by|startHour \d/);
    const sent = await browser.send(page, '/sign-up', {
      brandName: 'Fern',
      email: 'impossible@example.com',
      password: PASSWORD,
      date,
      startHour: String(startHour),
    });
    expect([sent.status, sent.flash]).toEqual([422, expect.stringMatching(said)]);
    expect(sent.text).toContain('Tables');
  }

  // The times of another day are shown with all that was typed, but the password.
  const written = { brandName: 'Fern & Co', email: 'day@example.com', password: PASSWORD, message: 'Two halls' };
  const other = await browser.send(await browser.open(address(inDays(32))), '/sign-up', {
    ...written,
    date: inDays(31),
    times: inDays(32),
  });
  expect([other.status, other.flash, hoursOn(other)]).toEqual([200, '', [9, 10, 18, 19, 20, 21]]);
  for (const shown of ['Fern &amp; Co', 'day@example.com', 'Two halls']) expect(other.text).toContain(shown);
  expect(other.text).not.toContain(PASSWORD);
  const full = await browser.open(address(inDays(30)));
  const [, next = ''] = /name="next" value="([\d-]+)"/.exec(full.text) ?? [];
  expect(next).toBe(inDays(31));
  expect(hoursOn(await browser.send(full, '/sign-up', { ...written, next }))).toEqual([9, 10, 18, 19, 20, 21]);
  // Enter in the password presses the first button of the form.
  const entered = await browser.send(other, '/sign-up', { ...written, startHour: '18', times: inDays(31) });
  expect(entered.url.pathname).toBe('/sign-up/sent');
  const many = await browser.open(`${address(inDays(32))}&guests=41`);
  expect(many.flash).toContain('This space takes up to 40 guests');
  expect((await core().mail.inbox?.list())?.filter(({ to }) => to === 'impossible@example.com')).toEqual([]);

  accepted(await catalogue.closeSpace(attic, BY_OPERATOR));
  const closed = await browser.open(address(inDays(32)));
  expect(closed.text).toContain('This space is not taking bookings at the moment.');
  expect(hoursOn(closed)).toEqual([]);
  const typed = { brandName: 'Fern', email: 'closed@example.com', password: PASSWORD };
  expect((await browser.send(closed, '/sign-up', typed)).url.pathname).toBe('/sign-up/sent');
});

test('on another device the link needs the password, so a stranger cannot sign up the address of another person', async () => {
  await signUp({ email: 'victim@example.com', password: 'chosen by a stranger' });
  const victim = newBrowser();
  const confirm = await victim.open(linkIn((await mailsTo('victim@example.com'))[0]));
  expect(confirm.text).toContain('type="password"');
  const wrong = await victim.send(confirm, '/confirm', { password: PASSWORD });
  expect([wrong.status, wrong.flash]).toEqual([422, 'This is not the password with which you signed up.']);
  expect(await core().users.byEmail('victim@example.com')).toBeUndefined();
  const right = await victim.send(wrong, '/confirm', { password: 'chosen by a stranger' });
  expect(right.url.pathname).toBe('/console/overview');
});

/** Everything that the asker could tell apart. */
const shapeOf = ({ status, text, headers }: Page) => ({
  status,
  text: text.replaceAll(/[\w.]+@example\.com/gi, 'ADDRESS'),
  location: headers.get('location'),
  headers: [...headers.keys()].sort(),
});

test('nothing tells an address with a sign-in from another one, in any case and beyond the limits', async () => {
  const accounts = [{ kind: 'Brand', id: brandId(running.demo.brands[0].id) }] as const;
  accepted(await core().users.add({ email: 'known@example.com', password: PASSWORD, accounts }, BY_OPERATOR));
  const post = async (email: string) => {
    const browser = newBrowser();
    const { target, body } = (await browser.open('/sign-up')).form('/sign-up', {
      brandName: 'Fern',
      email,
      password: PASSWORD,
    });
    return browser.request(target, { method: 'POST', body });
  };
  const statuses: number[] = [];
  for (const known of [
    'known@example.com',
    'Known@Example.COM',
    ' known@example.com',
    'KNOWN@example.com',
    'known@example.com',
    'known@example.com',
  ]) {
    const [one, other] = [await post(known), await post(known.replace(/known/i, 'stranger'))];
    expect(shapeOf(one)).toEqual(shapeOf(other));
    statuses.push(one.status);
  }
  expect(statuses).toEqual([303, 303, 303, 303, 303, 429]);
  const [mail, ...others] = await mailsTo('known@example.com', 5);
  for (const text of [mail, ...others]) {
    expect(text).toMatch(/^You have a sign-in already/);
    expect(linkIn(text)).toBe('');
  }
  expect((await mailsTo('stranger@example.com', 5)).every((text) => linkIn(text) !== '')).toBe(true);
  expect((await core().users.list()).filter(({ email }) => email === 'known@example.com')).toHaveLength(1);
});

test('one network signs up twenty times a day, and is then refused with what it typed', async () => {
  const browser = newBrowser();
  for (let time = 1; time <= 20; time += 1) {
    const { page } = await signUp({ email: `mass${time}@example.com` }, '/sign-up', browser);
    expect(page.url.pathname).toBe('/sign-up/sent');
  }
  const { page } = await signUp({ email: 'mass21@example.com', brandName: 'Typed' }, '/sign-up', browser);
  expect([page.status, page.flash]).toEqual([429, expect.stringMatching(/too many sign-ups today\. Try again in/)]);
  expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(80_000);
  expect(page.text).toContain('value="Typed"');
  expect(page.text).not.toContain(PASSWORD);
  expect((await signUp({ email: 'mass21@example.com' })).page.url.pathname).toBe('/sign-up/sent');
});

test('what is wrong is said beside its field, and nothing is sent', async () => {
  for (const [fields, said] of [
    [{ brandName: ' ' }, 'Name of the brand” must have 1 to 200 characters'],
    [{ brandName: 'x'.repeat(10_000) }, 'Name of the brand” must have 1 to 200 characters'],
    [{ email: 'nobody' }, 'E-mail” must be an e-mail address'],
    [{ password: 'short' }, 'The password must have 10 to 256 characters'],
  ] as const) {
    const { page } = await signUp({ email: 'wrong@example.com', ...fields });
    expect([page.status, page.title]).toEqual([422, 'Error: Sign up · Venue Booking']);
    expect(page.flash).toContain(said);
  }
  const long = await signUp({ email: 'wrong@example.com' }, `/sign-up?space=1&message=${'x'.repeat(501)}`);
  expect([long.page.status, long.page.flash]).toEqual([422, expect.stringContaining('500 characters')]);
  // What an address says that is no request is left out.
  const odd = await newBrowser().open('/sign-up?space=x&date=2026-02-30&startHour=99&guests=-&message=');
  expect([odd.status, odd.text.includes('Your request')]).toEqual([200, false]);
  expect((await core().mail.inbox?.list())?.filter(({ to }) => to === 'wrong@example.com')).toEqual([]);
});

test('a form from another site, and garbage for a link, do nothing', async () => {
  const browser = newBrowser();
  const body = new URLSearchParams({ brandName: 'Fern', email: 'foreign@example.com', password: PASSWORD });
  for (const path of ['/sign-up', '/sign-up/confirm']) {
    const foreign = await browser.request(path, { method: 'POST', body, headers: { origin: 'https://evil.example' } });
    expect(foreign.status).toBe(403);
  }
  for (const link of ['', 'x', 'sgn_x.abc.def', 'x'.repeat(5_000)]) {
    expect((await browser.open(`/sign-up/confirm?link=${link}`)).status).toBe(404);
    const sent = new URLSearchParams({ link, password: PASSWORD });
    expect((await browser.request('/sign-up/confirm', { method: 'POST', body: sent })).status).toBe(404);
  }
});

test('where brands cannot sign up, there is no such page and no link to it', async () => {
  const service = await runService({ DEMO: 'true', SIGN_UP: 'off' });
  for (const [method, path] of [
    ['GET', '/sign-up'],
    ['POST', '/sign-up'],
    ['GET', '/sign-up/sent'],
    ['GET', '/sign-up/confirm?link=x'],
    ['POST', '/sign-up/confirm'],
  ] as const)
    expect((await service.call(method, path)).statusCode, path).toBe(404);
  await service.stop();
  // Without mail, no address could be confirmed.
  useDataDir(temporaryDataDir(), { SIGN_UP: 'brands', DEMO: 'false' });
  expect(await inProcess('brand', 'list')).toMatchObject({ code: 2, stderr: expect.stringContaining('SIGN_UP') });
});
