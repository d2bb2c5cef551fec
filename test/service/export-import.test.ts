import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { inProcessWith } from '../cli/in-process.ts';
import { MONGODB } from '../document-store/engines.ts';
import { freePort } from '../free-port.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { call } from './client.ts';
import { killNode, runNode } from './node-process.ts';
import { embeddedPlace, type Place, serversPlace } from './places.ts';
import { temporaryDataDir } from './service-process.ts';

const ONE_LINE = /^[^\n]+\n$/;
const newKey = () => randomBytes(32).toString('base64');

async function addBrands(events: OperatedEventStore, from: number, to: number): Promise<void> {
  const metadata = {
    at: '2026-11-01T00:00:00.000Z',
    actor: { kind: 'operator', id: 'test' },
    correlationId: 'test',
    schema: 1,
  };
  for (let first = from; first < to; first += 500)
    await events.load(
      Array.from({ length: Math.min(500, to - first) }, (_, index) => {
        const brandId = first + index;
        const data = { brandId, name: `Büro ${brandId} 🎉` };
        return { id: crypto.randomUUID(), stream: `brand-${brandId}`, revision: 0, type: 'BrandAdded', data, metadata };
      }),
    );
}

/** An embedded store with many events. */
async function longStore(SECRET_KEY: string, brands: number): Promise<Place> {
  const place = await embeddedPlace({ SECRET_KEY });
  await place.json('brand', 'add', '--name', 'Acme');
  // Each starting process creates the first key in the background.
  await place.json('signing-key', 'rotate');
  const events = await openSqliteEventStore({ path: join(place.dataDir, 'events.db') });
  await addBrands(events, 2, brands);
  await events.close();
  return place;
}

const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0);
/** The fraction of events that a command reports as stored, 0 to 1. */
function storedIn(stderr: string): number {
  const [, done = '0', total = '1'] = [...stderr.matchAll(/([\d,]+) of ([\d,]+) events/g)].at(-1) ?? [];
  return Number(done.replaceAll(',', '')) / Number(total.replaceAll(',', ''));
}

test('an export killed at any point resumes and produces the same file', { timeout: 120_000 }, async () => {
  const place = await longStore(newKey(), 5_000);
  const folder = temporaryDataDir();
  const [whole, file] = [join(folder, 'whole'), join(folder, 'file')];
  await place.json('export', whole);
  const size = sizeOf(whole);
  const points = [0, 0.2, 0.5, 0.8];
  for (const point of points) {
    const isTime = () => sizeOf(file) > size * point;
    // On a busy machine, the signal may come too late. Then the file is cut, and the export is killed again.
    while (!(await killNode('src/cli.js', ['export', file], place.env, isTime)))
      truncateSync(file, Math.floor(size * point));
  }
  // The last one may have been complete when the signal arrived.
  if (sizeOf(file) < size) await place.json('export', file);
  expect(readFileSync(file).equals(readFileSync(whole))).toBe(true);
});

const targets = [
  ['the embedded engines', embeddedPlace, 4_000],
  ['EventStoreDB and MongoDB', serversPlace, 1_500],
] as const;
test.skipIf(lacks(MONGODB)).for(targets)(
  'an import into %s that is killed at any point resumes and produces the same store',
  { timeout: 240_000 },
  async ([, target, brands]) => {
    const SECRET_KEY = newKey();
    const place = await longStore(SECRET_KEY, brands);
    const file = join(temporaryDataDir(), 'store.ndjson');
    // This run is killed as well: the fence stays, and the same command continues.
    expect(await killNode('src/cli.js', ['export', file, '--with-records'], place.env, () => sizeOf(file) > 0)).toBe(
      true,
    );
    const { events, records } = await place.json('export', file, '--with-records');
    const other = await target({ SECRET_KEY });
    const points = [
      (stderr: string) => storedIn(stderr) >= 0.1,
      (stderr: string) => storedIn(stderr) >= 0.4,
      (stderr: string) => storedIn(stderr) >= 0.7,
      (stderr: string) => stderr.includes('Building the read models'),
    ];
    const killed: boolean[] = [];
    for (const isTime of points) {
      killed.push(await killNode('src/cli.js', ['import', file], other.env, isTime));
      if (killed.length > 3) continue;
      // No command starts on an incomplete store.
      expect(await other.run('brand', 'list')).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/An import into .* has not been completed. Run it again: venue import FILE\n$/),
      });
    }
    expect(killed).toEqual(points.map(() => true));
    expect(await other.json('import', file)).toMatchObject({ events, records });
    // A repeated import finds everything in place.
    expect(await other.json('import', file)).toMatchObject({ events, records });
    expect(await other.json('verify')).toMatchObject({ differences: [], notVerified: [] });
    const again = join(temporaryDataDir(), 'again.ndjson');
    await other.json('export', again, '--with-records');
    expect(readFileSync(again).equals(readFileSync(file))).toBe(true);
  },
);

test('a store whose records were exported is fenced: no process starts on it until unfence', async () => {
  const place = await embeddedPlace({ SECRET_KEY: newKey(), DEMO: 'false' });
  await place.json('brand', 'add', '--name', 'Acme');
  const folder = temporaryDataDir();

  // Refused while a process has the store open, which continues unaffected.
  const service = await place.start();
  const inUse = await place.run('export', join(folder, 'early'), '--with-records');
  expect(inUse).toMatchObject({ code: 1, stderr: expect.stringMatching(/Stop the service first\.\n$/) });
  expect(existsSync(join(folder, 'early'))).toBe(false);
  // An export of the log alone is allowed at any time.
  expect(await place.json('export', join(folder, 'log'))).toMatchObject({ fenced: false, records: 0 });
  await place.json('brand', 'list');
  await place.json('backup', join(folder, 'before'));
  expect(await service.end('SIGTERM')).toBe(0);

  // The store is not fenced for a file that cannot be written.
  const log = readFileSync(join(folder, 'log'));
  for (const wrong of [join(folder, 'nowhere', 'store'), folder, join(folder, 'log')])
    expect(await place.run('export', wrong, '--with-records')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^ValidationError: [^\n]+\n$/),
    });
  expect(readFileSync(join(folder, 'log')).equals(log)).toBe(true);
  await place.json('brand', 'list');

  const file = join(folder, 'store');
  expect(await place.json('export', file, '--with-records')).toMatchObject({ file, fenced: true });
  const fenced =
    /^InternalError: The store in .* is fenced\. If that export was imported nowhere and is deleted, run: venue unfence --not-imported\n$/;
  expect(await place.run('brand', 'list')).toMatchObject({ code: 1, stderr: expect.stringMatching(fenced) });
  expect(await place.run('backup', join(folder, 'backup'))).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(fenced),
  });
  for (const args of [['--adopt'], [join(folder, 'before'), '--overwrite']])
    expect(await place.run('restore', ...args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is fenced'),
    });
  const PORT = String(await freePort());
  const started = await runNode('src/main.js', [], { ...place.env, PORT, LOG_LEVEL: 'warn' });
  expect(started).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(ONE_LINE) });
  expect(started.stderr).toContain('is fenced');
  // A fenced store can still be exported.
  await place.json('export', join(folder, 'once-more'), '--with-records');
  expect(readFileSync(join(folder, 'once-more'), 'utf8')).toBe(readFileSync(file, 'utf8'));
  expect(await place.json('export', join(folder, 'log-again'))).toMatchObject({ records: 0 });

  expect(await place.run('unfence')).toMatchObject({ code: 2, stderr: expect.stringContaining('--not-imported') });
  expect(await place.json('unfence', '--not-imported')).toEqual({ fenced: false });
  expect(await place.run('unfence', '--not-imported')).toMatchObject({
    code: 1,
    stderr: 'ValidationError: The store is not fenced.\n',
  });
  expect(await (await place.start()).end('SIGTERM')).toBe(0);
});

test.skipIf(lacks(MONGODB))(
  'a store on servers is not fenced while a service runs on it; a suspended one ends as soon as it resumes',
  async () => {
    const place = await serversPlace({ SECRET_KEY: newKey() });
    const service = await place.start();
    const file = join(temporaryDataDir(), 'store');
    expect(await place.run('export', file, '--with-records')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('A process has the store in MONGODB_URL open'),
    });
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    process.kill(service.pid, 'SIGSTOP');
    onTestFinished(() => void service.end('SIGCONT'));
    await place.json('export', file, '--with-records');
    expect(await place.run('brand', 'list')).toMatchObject({ code: 1, stderr: expect.stringContaining('is fenced') });
    process.kill(service.pid, 'SIGCONT');
    expect(await service.ended).toBe(1);
    expect(service.output.stdout + service.output.stderr).toContain('is fenced. If that export was imported nowhere');
  },
);

test('a forgotten subject stays forgotten after a move', async () => {
  const SECRET_KEY = newKey();
  const one = await embeddedPlace({ SECRET_KEY, DEMO: 'true' });
  const service = await one.start();
  const [brand] = service.demo().brands;
  const spaceId = service.demo().communities[0]?.spaces[0]?.id;
  const words = 'Unmistakable words';
  const wanted = { spaceId, startTime: inDays(30), startHour: 12, message: words };
  const { status, body } = await call(service, brand?.apiKey ?? '', '/bookings', wanted);
  expect(status).toBe(201);
  expect(await service.end('SIGTERM')).toBe(0);
  const subject = ['--brand', String(brand?.id)];
  await one.json('forget', ...subject);
  const file = join(temporaryDataDir(), 'store.ndjson');
  await one.json('export', file, '--with-records');
  expect(readFileSync(file, 'utf8')).not.toContain(words);

  const other = await embeddedPlace({ SECRET_KEY });
  await other.json('import', file);
  const history = await other.run('booking', 'history', String(body.id), '--json');
  expect(history).toMatchObject({ code: 0, stdout: expect.stringContaining('"erased"') });
  expect(history.stdout).not.toContain(words);
  expect(await other.json('verify')).toMatchObject({ differences: [], notVerified: [] });
  expect(await other.run('forget', ...subject)).toMatchObject({ code: 1 });
});

test('an import requires a complete export, an empty store and the key of the exported store', async () => {
  const SECRET_KEY = newKey();
  const one = await embeddedPlace({ SECRET_KEY });
  await one.json('brand', 'add', '--name', 'Acme');
  const folder = temporaryDataDir();
  const file = join(folder, 'store.ndjson');
  await one.json('export', file, '--with-records');

  const target = temporaryDataDir();
  const importInto = (dataDir: string, env = {}, from = file) =>
    inProcessWith({ DATA_DIR: dataDir, ...env }, 'import', from);
  expect(await importInto(target)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^ValidationError: SECRET_KEY: is needed/),
  });
  expect(await importInto(target, { SECRET_KEY: newKey() })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^ValidationError: SECRET_KEY: is not the key .*store\.ndjson are sealed with\n$/),
  });
  const text = readFileSync(file, 'utf8');
  const [cut, changed] = [join(folder, 'cut'), join(folder, 'changed')];
  writeFileSync(cut, text.slice(0, -300));
  writeFileSync(changed, text.replace('Acme', 'Akme'));
  expect(await importInto(target, { SECRET_KEY }, cut)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is cut off'),
  });
  expect(await importInto(target, { SECRET_KEY }, changed)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('was changed'),
  });
  expect(await importInto(target, { SECRET_KEY }, join(folder, 'none'))).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^ValidationError: .*none cannot be read/),
  });
  expect(readdirSync(target)).toEqual([]);

  const used = await embeddedPlace({ SECRET_KEY });
  await used.json('brand', 'add', '--name', 'Mine');
  expect(await importInto(used.dataDir, { SECRET_KEY })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^ValidationError: The event log in .* holds other events than .*\. An import needs an empty store/,
    ),
  });
  expect(await used.json('brand', 'list')).toMatchObject([{ name: 'Mine' }]);
  expect(await importInto(target, { SECRET_KEY })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^events +\d+\nrecords +\d+$/m),
  });
});

test('without a file argument the export goes to stdout; a redirected file with records becomes private', async () => {
  const place = await embeddedPlace({ SECRET_KEY: newKey() });
  await place.json('brand', 'add', '--name', 'Acme');
  await place.json('signing-key', 'rotate');
  const file = join(temporaryDataDir(), 'store.ndjson');
  await place.json('export', file);
  const printed = await place.run('export');
  expect(printed).toMatchObject({ code: 0, stdout: readFileSync(file, 'utf8') });
  const stream = await place.run('export', '--stream', 'brand-1', '--json');
  expect(stream).toMatchObject({ code: 0, stderr: '' });
  expect(
    stream.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))[1],
  ).toMatchObject({ stream: 'brand-1', revision: 0 });

  const into = join(temporaryDataDir(), 'redirected');
  const sink = openSync(into, 'w', 0o644);
  const exec = promisify(execFile);
  const shell = `"${process.execPath}" src/cli.js export --with-records > "${into}" && "${process.execPath}" src/cli.js export | { read -r first; echo "$first"; }`;
  const { stdout } = await exec('/bin/sh', ['-c', shell], { env: { ...process.env, ...place.env } });
  closeSync(sink);
  expect(JSON.parse(stdout).export.format).toBe('venue-export-2');
  expect(statSync(into).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(into, 'utf8').trim().split('\n').at(-1) ?? '').trailer.records).toBeGreaterThan(0);

  const other = await embeddedPlace({ SECRET_KEY: newKey() });
  for (const [args, code, says] of [
    [['--with-records', '--stream', 'brand-1'], 2, '--with-records goes with the whole log'],
    [['--from', '2026-12-01', '--to', '2026-11-01'], 2, '--from must be before --to'],
    [['--from', 'yesterday'], 2, 'ISO 8601'],
    [['--stream', 'brand-99'], 1, 'ResourceNotFound: There is no stream brand-99.'],
    [['/nowhere/at/all'], 1, '/nowhere/at/all cannot be written: the folder /nowhere/at does not exist'],
  ] as const)
    expect(await other.run('export', ...args)).toMatchObject({ code, stderr: expect.stringContaining(says) });
});
