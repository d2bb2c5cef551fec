import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { communityId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { inProcess, json, useDataDir } from '../cli/in-process.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let community: Awaited<ReturnType<RunningService['community']>>;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let hall: number;
let file: string;

beforeAll(async () => {
  service = await runService();
  service.time.now = Date.now();
  community = await service.community();
  brand = await service.brand();
  hall = await service.space(community, { name: 'Große Halle', durationHours: 1 });
  await service.space(community, { name: 'Loft' });
  await service.space(community, { name: 'Loft' });
  file = join(service.config.dataDir, 'events.csv');
});
afterAll(() => service.stop());
beforeEach(() => useDataDir(service.config.dataDir));

const write = (content: string | Buffer) => writeFileSync(file, content);
const importFile = (...more: readonly string[]) =>
  json('closure', 'import', '--community', String(community.id), file, ...more);
/** The command line has the clock of the machine. */
const day = (number: number) => inDays(20 + number);
const events = async () => (await Array.fromAsync(service.core.events.readAll())).length;

test('lines become own events, the others are listed with the reason, and the same file again adds nothing', async () => {
  const body = { spaceId: hall, startTime: day(11), startHour: 18 };
  expect((await service.post('/bookings', { key: brand.key, body })).statusCode).toBe(201);
  // A byte order mark, semicolons and line ends as a German Excel writes them.
  const lines = [
    'Date;Start;End;Space;Title',
    `${day(10)};18:00;20:00;Große Halle;"Chor; Probe"`,
    `${day(11)};18;20;${hall};Chor`,
    `${day(12)};20;18;${hall};Chor`,
    `${day(12)};18:30;20;${hall};Chor`,
    `3/4/2036;18;20;${hall};Chor`,
    `${day(12)};18;20;Keller;Chor`,
    `${day(12)};18;20;Loft;Chor`,
    `2025-11-12;18;20;${hall};Chor`,
    `${day(13)};18;20;${hall};"=HYPERLINK(""http://evil.example"")"`,
    `${day(10)};19;21;${hall};Yoga`,
    `${day(14)};18;20;${hall};${'x'.repeat(201)}`,
    `${day(15)};18;20;${hall};Chor;Probe`,
    '',
    `${day(16)};8;9;${hall};`,
    ';;;;',
  ];
  write(`\uFEFF${lines.join('\r\n')}\r\n`);
  const skipped = [
    { line: 3, reason: expect.stringMatching(/^18:00–20:00 on .* is not free: booking #1 of Acme, 18:00–19:00\.$/) },
    { line: 4, reason: expect.stringContaining('end after they begin') },
    { line: 5, reason: 'Own events start and end on the hour: write 18 or 19 as start, got “18:30”.' },
    { line: 6, reason: 'date must be written like 2026-12-24 or 24.12.2026, got “3/4/2036”.' },
    { line: 7, reason: 'The community has no space “Keller”.' },
    { line: 8, reason: 'Several spaces are called “Loft”: write the id.' },
    { line: 9, reason: expect.stringContaining('or later, got 2025-11-12') },
    { line: 10, reason: expect.stringContaining('title begins like a formula') },
    { line: 11, reason: 'The hours overlap those of line 2.' },
    { line: 12, reason: expect.stringContaining('title') },
    { line: 13, reason: expect.stringContaining('more cells than the first line') },
  ];
  const before = await events();
  expect(await importFile('--dry-run')).toEqual({ lines: 13, wouldAdd: 2, addedBefore: 0, skipped });
  expect(await events()).toBe(before);
  expect(await importFile()).toEqual({ lines: 13, added: 2, addedBefore: 0, skipped });
  const listed = await json('closure', 'list', '--community', String(community.id));
  expect(listed).toMatchObject([
    { kind: 'OwnEvent', from: day(10), to: day(10), hours: '18-20', title: 'Chor; Probe' },
    { kind: 'OwnEvent', from: day(16), hours: '8-9' },
  ]);

  // Also once one of them has ended.
  const [first] = listed;
  accepted(await service.core.commands.closures.end({ closureId: first.id, communityId: community.id }, CONTEXT));
  const after = await events();
  expect(await importFile()).toEqual({ lines: 13, added: 0, addedBefore: 2, skipped });
  expect(await events()).toBe(after);
});

test('dates, hours, names and the separator are read as spreadsheets write them', async () => {
  const dates = [day(40), day(41), day(42)].map((date) => date.split('-'));
  const [[y1, m1, d1] = [], [y2, m2, d2] = [], [y3, m3, d3] = []] = dates;
  write(
    [
      'sep=|',
      'DATE|START|END|SPACE',
      `${d1}.${Number(m1)}.${y1}|18:00:00|20:00:00|große halle`,
      `${y2}/${m2}/${d2}|8|9|GROSSE HALLE`,
      `${y3}/${m3}/${d3}|8|09:00|GROẞE halle`,
      '24/13/2036|8|9|große halle',
    ].join('\r\n'),
  );
  expect(await importFile('--dry-run')).toEqual({
    lines: 4,
    wouldAdd: 2,
    addedBefore: 0,
    skipped: [
      { line: 4, reason: 'The community has no space “GROSSE HALLE”.' },
      { line: 6, reason: expect.stringContaining('got “24/13/2036”') },
    ],
  });
  // With slashes, one of the numbers has to be above 12.
  const far = Number(day(0).slice(0, 4)) + 2;
  write(`sep=,\ndate,start,end,space\n24/12/${far},8,9,${hall}\n12/24/${far},9,10,${hall}\n5/6/${far},8,9,${hall}\n`);
  expect(await importFile('--dry-run')).toMatchObject({ wouldAdd: 2, skipped: [{ line: 5 }] });
});

test('a time between two hours, or none, is refused with what to write instead', async () => {
  const times = [
    ['9:30', '11', 'Own events start and end on the hour: write 9 or 10 as start, got “9:30”.'],
    ['09:00', '10:15:00', 'Own events start and end on the hour: write 10 or 11 as end, got “10:15:00”.'],
    ['23:45', '24', 'Own events start and end on the hour: write 23 as start, got “23:45”.'],
    ['22', '23:59', 'Own events start and end on the hour: write 23 or 24 as end, got “23:59”.'],
    ['noon', '14', 'start must be a whole hour such as 18 or 18:00, got “noon”.'],
    ['12', '14:75', 'end must be a whole hour such as 20 or 20:00, got “14:75”.'],
    ['12', '24:30', 'end must be a whole hour such as 20 or 20:00, got “24:30”.'],
  ] as const;
  write(`date,start,end,space\n${times.map(([start, end]) => `${day(50)},${start},${end},${hall}\n`).join('')}`);
  const { skipped } = await importFile('--dry-run');
  expect(skipped.map(({ reason }: { readonly reason: string }) => reason)).toEqual(times.map(([, , reason]) => reason));
});

test('a line whose hours were requested in the moment of adding it is tried again by the next import', async () => {
  // The request arrives between the check and the closing of the day.
  const wanted = { spaceIds: [hall], from: day(30), to: day(30), start: 18, until: 20 };
  const { closures, importClosures } = service.core.commands;
  const lines = Buffer.from(`date,start,end,space,title\n${day(30)},18,20,${hall},Choir\n`);
  const options = { communityId: communityId(community.id) };
  const refusedInTheRace = await raced(
    async () => {
      accepted(await closures.add({ ...wanted, communityId: community.id, kind: 'OwnEvent', title: 'Yoga' }, CONTEXT));
    },
    () => importClosures(lines, options, CONTEXT),
  );
  expect(refusedInTheRace).toMatchObject({
    added: 0,
    addedBefore: 0,
    skipped: [{ line: 2, reason: `18:00–20:00 on ${day(30)} is not free: another own event, “Yoga”, 18:00–20:00.` }],
  });
  const [yoga] = await service.core.queries.closures.list(options.communityId, day(30), day(30));
  expect(await importClosures(lines, options, CONTEXT)).toMatchObject({ added: 0, addedBefore: 0, skipped: [{}] });
  accepted(await closures.end({ closureId: yoga?.closureId ?? '', communityId: community.id }, CONTEXT));
  expect(await importClosures(lines, options, CONTEXT)).toMatchObject({ added: 1, addedBefore: 0, skipped: [] });
  expect(await importClosures(lines, options, CONTEXT)).toMatchObject({ added: 0, addedBefore: 1, skipped: [] });
  // Ended on purpose, it stays away.
  const [choir] = await service.core.queries.closures.list(options.communityId, day(30), day(30));
  accepted(await closures.end({ closureId: choir?.closureId ?? '', communityId: community.id }, CONTEXT));
  expect(await importClosures(lines, options, CONTEXT)).toMatchObject({ added: 0, addedBefore: 1, skipped: [] });
});

/** Runs `first` when `second` has appended its intention. */
async function raced<R>(first: () => Promise<void>, second: () => Promise<R>): Promise<R> {
  const { events } = service.core;
  const append = events.append.bind(events);
  const spy = vi.spyOn(events, 'append').mockImplementation(async (stream, ...rest) => {
    const appended = await append(stream, ...rest);
    if (!stream.startsWith('venue_closure-')) return appended;
    spy.mockRestore();
    await first();
    return appended;
  });
  return second();
}

test.each([
  ['50 MB', () => Buffer.alloc(50_000_000, 'x'), 'has 50.0 MB: at most 5.0 MB are read'],
  [
    'Latin-1',
    () => Buffer.from('date,start,end,space,title\n2026-12-10,18,20,Große Halle,\n', 'latin1'),
    'is not in UTF-8',
  ],
  [
    '2,001 lines',
    () => `date,start,end,space\n${'2026-12-10,18,20,1\n'.repeat(2_001)}`,
    'has 2,001 lines: at most 2,000',
  ],
  ['no header', () => '2026-12-10,18,20,1\n', 'has no column date, start, end, space'],
  ['an unknown column', () => 'date,start,end,space,price\n', 'Remove “price”'],
  ['a column twice', () => 'date,start,end,space,date\n', 'each once'],
  ['an open quote', () => 'date,start,end,space,title\n2026-12-10,18,20,1,"Choir\n', 'is no CSV: Quote Not Closed'],
  ['nothing', () => '', 'has no column date'],
])('a file with %s is refused as a whole', async (_, content, message) => {
  write(content());
  const before = await events();
  const { code, stderr } = await inProcess('closure', 'import', '--community', String(community.id), file);
  expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  expect(stderr).toMatch(/^ValidationError: .*\n$/);
  expect(await events()).toBe(before);
});

test('a file that is not there, and an unknown community, are refused', async () => {
  write('date,start,end,space\n');
  const unknown = await inProcess('closure', 'import', '--community', '99', file);
  expect([unknown.code, unknown.stderr]).toEqual([1, 'ResourceNotFound: There is no community 99.\n']);
  const missing = await inProcess('closure', 'import', '--community', String(community.id), `${file}.none`);
  expect([missing.code, missing.stderr]).toEqual([
    1,
    expect.stringMatching(/^ValidationError: .* cannot be read: ENOENT/),
  ]);
});

/** The date of the next hour from 2:00 that the clocks of Berlin skip, at least ten days ahead. */
function skippedHour(): string {
  const isSkipped = (at: Temporal.ZonedDateTime) => at.hour === 3;
  const later = Temporal.Now.zonedDateTimeISO('Europe/Berlin').add({ days: 10 });
  for (let at = later.getTimeZoneTransition('next'); at !== null; at = at.getTimeZoneTransition('next'))
    if (isSkipped(at)) return at.toPlainDate().toString();
  throw new Error('The clocks of Berlin skip no hour any more');
}

test('a line whose hours the clocks skip is listed, and keeps no other line from being added', async () => {
  const date = skippedHour();
  write(`date,start,end,space,title\n${date},2,3,${hall},Watch\n${date},1,4,${hall},Vigil\n`);
  const skipped = [{ line: 2, reason: `02:00–03:00 on ${date} does not exist: the clocks skip it.` }];
  expect(await importFile('--dry-run')).toEqual({ lines: 2, wouldAdd: 1, addedBefore: 0, skipped });
  expect(await importFile()).toEqual({ lines: 2, added: 1, addedBefore: 0, skipped });
  expect(await importFile()).toEqual({ lines: 2, added: 0, addedBefore: 1, skipped });
});

test('a line whose own event was changed since is not added again', async () => {
  write(`date,start,end,space,title\n${day(40)},18,20,${hall},Chor\n`);
  expect(await importFile()).toMatchObject({ added: 1 });
  const listed: { id: string; from: string }[] = await json('closure', 'list', '--community', String(community.id));
  const { id } = listed.find(({ from }) => from === day(40)) ?? expect.fail();
  expect(await json('closure', 'change', id, '--hours', '8-10')).toMatchObject({ days: 1 });
  const before = await events();
  expect(await importFile()).toMatchObject({ added: 0, addedBefore: 1, skipped: [] });
  expect(await events()).toBe(before);
});
