import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR, openUsers } from '../auth/change-log.ts';
import { eventually } from '../eventually.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';

const written: string[] = [];
let service: RunningService;
let community: Awaited<ReturnType<RunningService['community']>>;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let hall: number;
let loft: number;

beforeAll(async () => {
  const logger = pino({ level: 'trace' }, { write: (line: string) => void written.push(line) });
  service = await runService({ LOG_READS: 'true' }, logger);
  community = await service.community();
  brand = await service.brand('Acme, "Co"; \\');
  hall = await service.space(community);
  loft = await service.space(community, { name: 'Loft' });
});
afterAll(() => service.stop());

async function user(...accounts: readonly Account[]): Promise<string> {
  const of = { email: `${randomUUID()}@example.com`, password: 'correct horse battery', accounts };
  return accepted(await service.core.users.add(of, BY_OPERATOR)).id;
}

type Wanted = {
  readonly spaceId?: number;
  readonly showsNames?: boolean;
  readonly account?: Account;
  readonly userId?: string;
};

/** Adds a feed. @returns its address and id */
async function feed({ account = community.account, showsNames = true, userId, ...rest }: Wanted = {}) {
  const owner = userId ?? (await user(account));
  const { secret, feedId } = accepted(
    await service.core.commands.calendarFeeds.add({ userId: owner, account, showsNames, ...rest }, CONTEXT),
  );
  return { url: `/calendar/${secret}.ics`, secret, feedId, userId: owner };
}

const read = (url: string, headers: Record<string, string> = {}) => service.call('GET', url, { headers });

/** The unfolded lines of each event in a feed, by property. */
async function eventsOf(url: string): Promise<Record<string, string>[]> {
  const answer = await read(url);
  expect(answer.statusCode).toBe(200);
  const lines = answer.body.replaceAll('\r\n ', '').split('\r\n');
  return lines
    .join('\n')
    .split('BEGIN:VEVENT\n')
    .slice(1)
    .map((event) => Object.fromEntries(event.split('\n').map((line) => line.split(/:(.*)/, 2) as [string, string])));
}

const summaries = async (url: string) => (await eventsOf(url)).map(({ SUMMARY }) => SUMMARY);

async function book(startTime: string, startHour: number, spaceId = hall): Promise<number> {
  const answer = await service.post('/bookings', { key: brand.key, body: { spaceId, startTime, startHour } });
  expect(answer.statusCode).toBe(201);
  return answer.json().id;
}

const close = (from: string, rest: object = {}) =>
  service.core.commands.closures.add(
    { communityId: community.id, kind: 'Closure', from, to: from, start: 0, until: 24, spaceIds: [hall], ...rest },
    CONTEXT,
  );

describe('a calendar feed', () => {
  test('has the bookings, closed times and own events that a community holds, and a change of one in its place', async () => {
    const { bookings } = service.core.commands;
    const [pending, approved, declined] = [
      await book('2026-12-08', 9),
      await book('2026-12-09', 10, loft),
      await book('2026-12-10', 9),
    ];
    accepted(await bookings.approve({ bookingId: approved, communityId: community.id }, CONTEXT));
    const closed = accepted(await close('2026-12-25', { spaceIds: [hall, loft], title: 'Christmas' }));
    accepted(await close('2026-12-27', { kind: 'OwnEvent', start: 10, until: 12, title: 'Choir' }));
    const { url } = await feed();
    expect(await summaries(url)).toContain('Request: Acme\\, "Co"\\; \\\\\\, Great Hall');

    accepted(await bookings.cancel({ bookingId: declined, by: community.account }, CONTEXT));
    const events = await eventsOf(url);
    const page = `${service.config.publicUrl}/console`;
    expect(events).toMatchObject([
      {
        UID: `booking-${pending}@${service.core.logId}.venue-booking`,
        DTSTART: '20261208T080000Z',
        DTEND: '20261208T120000Z',
        STATUS: 'TENTATIVE',
        URL: `${page}/bookings/${pending}`,
      },
      { SUMMARY: 'Acme\\, "Co"\\; \\\\\\, Loft', DTSTART: '20261209T090000Z', STATUS: 'CONFIRMED', LOCATION: 'Loft' },
      {
        UID: `closure-${closed.closureId}-2026-12-25@${service.core.logId}.venue-booking`,
        SUMMARY: 'Closed: Christmas',
        LOCATION: 'Great Hall\\, Loft',
        // A whole day has no hours.
        'DTSTART;VALUE=DATE': '20261225',
        'DTEND;VALUE=DATE': '20261226',
      },
      { SUMMARY: 'Choir', DTSTART: '20261227T090000Z', DTEND: '20261227T110000Z', STATUS: 'CONFIRMED' },
    ]);

    const ofLoft = await feed({ spaceId: loft });
    expect(await summaries(ofLoft.url)).toEqual(['Acme\\, "Co"\\; \\\\\\, Loft', 'Closed: Christmas']);
    const ofBrand = await feed({ account: brand.account });
    expect(await summaries(ofBrand.url)).toEqual(['Request: Great Hall\\, Harbour', 'Loft\\, Harbour']);
  });

  test('shows no name, title or place if it shows only what is busy', async () => {
    const { url } = await feed({ showsNames: false });
    const events = await eventsOf(url);
    expect(events).toHaveLength(4);
    for (const event of events) {
      const properties = Object.keys(event).map((name) => name.replace(';VALUE=DATE', ''));
      expect(properties.filter((name) => name !== '')).toEqual([
        'UID',
        'DTSTAMP',
        'LAST-MODIFIED',
        'DTSTART',
        'DTEND',
        'STATUS',
        'SEQUENCE',
        'SUMMARY',
        'END',
      ]);
      expect(event.SUMMARY).toBe('Busy');
    }
    expect((await read(url)).body).not.toMatch(/Acme|Christmas|Choir|Harbour|Hall|Loft/);
  });

  test('reaches 30 days back and 400 ahead', async () => {
    onTestFinished(() => {
      service.time.now = NOON;
    });
    const far = await service.space(community, { name: 'Far' });
    const { url } = await feed({ spaceId: far });
    for (const date of ['2026-12-02', '2026-12-03', '2028-02-06', '2028-02-07'])
      accepted(await close(date, { spaceIds: [far], title: date }));
    for (const date of ['2026-12-04', '2026-12-05', '2028-02-04', '2028-02-05']) await book(date, 9, far);
    // In Berlin it is 2 January 2027 already.
    service.time.now = Date.parse('2027-01-01T23:30:00Z');
    expect(await summaries(url)).not.toContain('Closed: 2026-12-02');
    expect(await summaries(url)).toContain('Closed: 2026-12-03');
    expect(await summaries(url)).toContain('Closed: 2028-02-06');
    expect(await summaries(url)).not.toContain('Closed: 2028-02-07');
    service.time.now = Date.parse('2027-01-03T23:30:00Z');
    const days = (await eventsOf(url)).flatMap(({ UID, DTSTART }) =>
      UID?.startsWith('booking') ? [DTSTART?.slice(0, 8)] : [],
    );
    expect(days).toEqual(['20261205', '20280204', '20280205']);
  });

  test('leaves out hours that the clocks skip, and has hours that they repeat', async () => {
    const { url } = await feed({ spaceId: await lightHouse() });
    const times = (await eventsOf(url)).map(({ SUMMARY, DTSTART, DTEND }) => [SUMMARY, DTSTART, DTEND]);
    expect(times).toEqual([
      ['Closed: 22 hours', '20270327T230000Z', '20270328T210000Z'],
      ['Closed: 24 hours', '20271030T220000Z', '20271031T220000Z'],
    ]);
  });

  test('has the days of a weekly own event that its page counts, without the one on which the clocks skip it', async () => {
    const space = await service.space(community, { name: 'Tower' });
    const weekly = { kind: 'OwnEvent', spaceIds: [space], start: 2, until: 3, to: '2027-04-04', weekdays: ['Sunday'] };
    const { days, skipped } = accepted(await close('2027-03-21', weekly));
    const { url } = await feed({ spaceId: space });
    expect((await eventsOf(url)).map(({ DTSTART }) => DTSTART)).toEqual(['20270321T010000Z', '20270404T000000Z']);
    expect([days, skipped.map(({ date }) => date)]).toEqual([2, ['2027-03-28']]);
  });

  test('shows own events and closed times as changed once the zone of their community has moved them', async () => {
    const host = await service.community('Asia/Dubai', 'Moving');
    const space = await service.space(host);
    accepted(
      await close('2027-01-10', { communityId: host.id, spaceIds: [space], kind: 'OwnEvent', start: 9, until: 10 }),
    );
    const { url } = await feed({ account: host.account });
    const [before] = await eventsOf(url);
    service.time.now += 3_600_000;
    const facts = { timeZone: 'Europe/Berlin' };
    accepted(await service.core.commands.catalogue.changeCommunity({ communityId: host.id, facts }, CONTEXT));
    const [after] = await eventsOf(url);
    expect([before?.DTSTART, after?.DTSTART]).toEqual(['20270110T050000Z', '20270110T080000Z']);
    expect(after?.UID).toBe(before?.UID);
    expect(String(after?.['LAST-MODIFIED']) > String(before?.['LAST-MODIFIED'])).toBe(true);
  });

  test('gives an event a later time of change and a higher sequence whenever what it shows has changed', async () => {
    const host = await service.community('UTC', 'Old name');
    const space = await service.space(host, { name: 'Old hall' });
    const answer = await service.post('/bookings', {
      key: brand.key,
      body: { spaceId: space, startTime: '2027-02-01', startHour: 10 },
    });
    const ids = { bookingId: answer.json().id, communityId: host.id };
    accepted(await close('2027-02-02', { communityId: host.id, spaceIds: [space], kind: 'OwnEvent', title: 'Choir' }));
    const { catalogue, bookings } = service.core.commands;
    const feeds = [await feed({ account: brand.account }), await feed({ account: host.account })];
    const eventsAt = async (date: string) =>
      (await Promise.all(feeds.map(({ url }) => eventsOf(url))))
        .flat()
        .filter((event) =>
          Object.entries(event).some(([name, value]) => /^DTSTART/.test(name) && value.startsWith(date)),
        );
    /** Changes something, and expects each event of a date that looks different now to be newer. */
    async function expectNewer(date: string, change: () => Promise<unknown>): Promise<void> {
      const before = await eventsAt(date);
      service.time.now += 90_000;
      accepted(await change());
      const after = await eventsAt(date);
      const shown = ({ SUMMARY, STATUS, LOCATION }: Record<string, string> = {}) => [SUMMARY, STATUS, LOCATION].join();
      const changed = after.filter((event, index) => shown(event) !== shown(before[index]));
      expect(changed.length, date).toBeGreaterThan(0);
      for (const event of changed) {
        const former = before[after.indexOf(event)];
        expect(event.UID).toBe(former?.UID);
        expect(Number(event.SEQUENCE)).toBeGreaterThan(Number(former?.SEQUENCE));
        for (const time of ['DTSTAMP', 'LAST-MODIFIED'])
          expect(String(event[time]) > String(former?.[time])).toBe(true);
      }
    }
    await expectNewer('20270201', () => bookings.approve(ids, CONTEXT) as Promise<never>);
    await expectNewer('20270201', () =>
      catalogue.changeCommunity({ communityId: host.id, facts: { name: 'New name' } }, CONTEXT),
    );
    await expectNewer('20270202', () =>
      catalogue.changeSpace({ spaceId: space, terms: { name: 'New hall' } }, CONTEXT),
    );
  });

  async function lightHouse(): Promise<number> {
    const space = await service.space(community, { name: 'Lighthouse' });
    for (const [date, start, until, title] of [
      ['2027-03-28', 2, 3, 'skipped'],
      ['2027-03-28', 0, 23, '22 hours'],
      ['2027-10-31', 0, 23, '24 hours'],
    ] as const)
      accepted(await close(date, { spaceIds: [space], start, until, title }));
    return space;
  }

  test('takes no line from a name: breaks, separators and long names stay in their line', async () => {
    const space = await service.space(community, { name: 'Saal “Ü” 🎪'.repeat(12) });
    // The rules for names refuse a line break today; a title with one may be older.
    const { url } = await feed({ spaceId: space });
    accepted(await close('2026-12-30', { spaceIds: [space], title: 'x; y, z\\n END:VEVENT' }));
    const { body } = await read(url);
    const lines = body.split('\r\n');
    expect(lines.every((line) => Buffer.byteLength(line) <= 75)).toBe(true);
    expect(lines.filter((line) => line === 'END:VEVENT')).toHaveLength(1);
    expect(body.replaceAll('\r\n ', '')).toContain('SUMMARY:Closed: x\\; y\\, z\\\\n END:VEVENT\r\n');
    expect(body.replaceAll('\r\n ', '')).toContain(`LOCATION:${'Saal “Ü” 🎪'.repeat(12)}\r\n`);
  });

  test('has an entity tag, which stays while its content does, and no body for HEAD', async () => {
    const { url } = await feed();
    const answer = await read(url);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/calendar; charset=utf-8',
      'cache-control': 'private, no-cache',
    });
    const tag = String(answer.headers.etag);
    service.time.now += 60_000;
    expect((await read(url, { 'if-none-match': tag })).statusCode).toBe(304);
    const head = await service.app.inject({ method: 'HEAD', url });
    expect(head).toMatchObject({ statusCode: 200, body: '' });
    expect(head.headers.etag).toBe(tag);
    accepted(await close('2026-12-31'));
    expect((await read(url, { 'if-none-match': tag })).statusCode).toBe(200);
  });

  test('reads its texts as erased once their author has been forgotten', async () => {
    const author = await user(community.account);
    const by = { ...CONTEXT, actor: { kind: 'user', id: author, account: community.account } } as const;
    const space = await service.space(community, { name: 'Attic' });
    accepted(
      await service.core.commands.closures.add(
        {
          communityId: community.id,
          kind: 'OwnEvent',
          from: '2027-01-08',
          to: '2027-01-08',
          start: 9,
          until: 10,
          spaceIds: [space],
          title: 'My birthday',
        },
        by,
      ),
    );
    const { url } = await feed({ spaceId: space });
    expect(await summaries(url)).toEqual(['My birthday']);
    accepted(await service.core.commands.personalData.forget(`user:${author}`, CONTEXT));
    expect(await summaries(url)).toEqual(['erased']);
  });
});

describe('the address of a feed', () => {
  test('ends when it is revoked and when its user leaves, in every process, and answers as if it never was', async () => {
    const other = await runService({ DATA_DIR: service.config.dataDir }, pino({ level: 'silent' }));
    onTestFinished(() => other.stop());
    const statuses = (url: string) =>
      Promise.all([service, other].map(async ({ app }) => (await app.inject({ url })).statusCode));
    const { users, commands } = service.core;
    const second = await service.community('America/New_York', 'Second');
    const [revoked, removed, left] = [
      await feed(),
      await feed(),
      await feed({ userId: await user(community.account, second.account) }),
    ];
    for (const { url } of [revoked, removed, left]) expect(await statuses(url)).toEqual([200, 200]);

    expect(await commands.calendarFeeds.revoke({ feedId: revoked.feedId, by: second.account }, CONTEXT)).toMatchObject({
      refused: 'ResourceNotFound',
    });
    expect(
      await commands.calendarFeeds.revoke({ feedId: revoked.feedId, by: community.account }, CONTEXT),
    ).toBeUndefined();
    expect(await commands.calendarFeeds.revoke({ feedId: revoked.feedId }, CONTEXT)).toBeUndefined();
    await users.remove(removed.userId, BY_OPERATOR);
    accepted(await users.removeAccount(left.userId, community.account, BY_OPERATOR));
    for (const { url } of [revoked, removed, left])
      await eventually(async () => expect(await statuses(url)).toEqual([404, 404]));

    // The same user again, in the same account: the former address stays dead.
    accepted(await users.addAccount(left.userId, community.account, 'Manager', BY_OPERATOR));
    await eventually(async () => expect(await statuses(left.url)).toEqual([404, 404]));

    const unknown = await read(`/calendar/${revoked.secret.slice(0, -1)}x.ics`);
    const ended = await read(revoked.url);
    expect([ended.statusCode, ended.body]).toEqual([404, unknown.body]);
    expect(ended.json()).toMatchObject({ error: 'ResourceNotFound' });
    const history = await service.core.queries.accountHistory.page(community.account, { topic: 'feeds', limit: 10 });
    expect(history.changes.filter(({ event }) => event.type === 'CalendarFeedEnded')).toHaveLength(3);
  });

  test('is refused while its user is not in the account, and ended by an event alone', async () => {
    const { core } = service;
    const third = await service.community('Europe/Berlin', 'Fourth');
    const { url, feedId, userId } = await feed({ userId: await user(third.account, community.account) });
    const status = async () => (await read(url)).statusCode;
    // These change the record of the user, and end nothing: as in a process that has not come to that yet.
    const { users: unfinished } = await openUsers(core.documents, core.clock);
    accepted(await unfinished.removeAccount(userId, community.account, BY_OPERATOR));
    expect(await status()).toBe(404);
    expect(await core.credentials.isEnded(feedId)).toBe(false);

    accepted(await unfinished.addAccount(userId, community.account, 'Manager', BY_OPERATOR));
    expect(await status()).toBe(200);
    accepted(await core.users.removeAccount(userId, community.account, BY_OPERATOR));
    accepted(await core.users.addAccount(userId, community.account, 'Manager', BY_OPERATOR));
    await eventually(async () => expect(await status()).toBe(404));
    const history = await core.queries.accountHistory.page(community.account, { topic: 'feeds', limit: 1 });
    expect(history.changes).toMatchObject([{ event: { type: 'CalendarFeedEnded', data: { feedId } } }]);
  });

  test('is one of at most ten of a user, also if they are added at the same moment in two processes', async () => {
    const other = await runService({ DATA_DIR: service.config.dataDir }, pino({ level: 'silent' }));
    onTestFinished(() => other.stop());
    const userId = await user(community.account, brand.account);
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        (index % 2 === 0 ? service : other).core.commands.calendarFeeds.add(
          { userId, account: index % 4 < 2 ? community.account : brand.account, showsNames: true },
          CONTEXT,
        ),
      ),
    );
    const added = outcomes.flatMap((outcome) => (isRefusal(outcome) ? [] : [outcome]));
    expect(added).toHaveLength(10);
    expect(new Set(added.map(({ feedId }) => feedId)).size).toBe(10);
    expect(outcomes.find(isRefusal)).toMatchObject({ refused: 'ValidationError', details: /at most 10/ });
    const [first] = added;
    await service.core.commands.calendarFeeds.revoke({ feedId: first?.feedId ?? '' }, CONTEXT);
    await feed({ userId });
  });

  test('is refused for the space of another community, and for a feed of a brand', async () => {
    const { calendarFeeds } = service.core.commands;
    const second = await service.community('Europe/Berlin', 'Third');
    for (const account of [second.account, brand.account])
      expect(
        await calendarFeeds.add({ userId: 'usr_1', account, showsNames: true, spaceId: hall }, CONTEXT),
      ).toMatchObject({
        refused: 'ResourceNotFound',
      });
    for (const id of ['', 'x', 'usr_1', 'usr_1.0', 'usr_1.1', `${'u'.repeat(2_000)}.1`, 'usr_1.99999999999'])
      expect(await calendarFeeds.revoke({ feedId: id }, CONTEXT)).toMatchObject({ refused: 'ResourceNotFound' });
  });

  test('is neither in the log of the service nor in any of its files', async () => {
    const { url, secret } = await feed();
    const paths = [url, url.replace('.ics', ''), `${url}?x=${secret}`, `${url}/`, `${url}%`, `/console/../${url}`];
    for (const path of paths) await read(path, { accept: 'text/html' });
    await service.call('POST', url);
    expect(written.join('')).toContain('/calendar/:file');
    expect(written.join('')).not.toContain(secret);
    const files = await readdir(service.config.dataDir, { recursive: true, withFileTypes: true });
    const contents = await Promise.all(
      files.flatMap((file) => (file.isFile() ? [readFile(join(file.parentPath, file.name), 'latin1')] : [])),
    );
    expect(contents.length).toBeGreaterThan(2);
    expect(contents.some((text) => text.includes(secret))).toBe(false);
  });
});
