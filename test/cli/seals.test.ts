import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { parseVerifierKey } from '../../src/audit/signed-note.ts';
import { type CommunityId, communityId as toCommunityId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';
import { temporaryDataDir } from '../service/service-process.ts';
import { inProcess, json, useDataDir } from './in-process.ts';

let service: RunningService;
let bookingId: number;
let communityId: CommunityId;
const at = (name: string): string => join(service.config.dataDir, name);

beforeAll(async () => {
  service = await runService();
  service.time.now = Date.now();
  const [community, brand] = [await service.community(), await service.brand()];
  communityId = toCommunityId(community.id);
  const details = { spaceId: await service.space(community), date: inDays(30), startHour: 10 };
  ({ bookingId } = accepted(await service.core.commands.bookings.request({ brandId: brand.id, details }, CONTEXT)));
});
afterAll(() => service.stop());

test('the command creates the key and publishes it at once', async () => {
  const published = () => service.call('GET', '/.well-known/seal-key');
  expect(await published()).toMatchObject({
    statusCode: 404,
    headers: { 'content-type': 'application/json; charset=utf-8' },
  });
  expect((await published()).json()).toEqual({ error: 'ResourceNotFound', details: 'The key has not been made yet' });
  useDataDir(service.config.dataDir);
  const { origin, key } = await json('seal-key');
  expect(parseVerifierKey(key)?.name).toBe(origin);
  expect(origin).toBe(`venue-booking-service/${await service.core.identity.logId()}`);
  expect(await inProcess('seal-key')).toEqual({ code: 0, stdout: `${key}\n`, stderr: '' });
  const answer = await published();
  expect(answer).toMatchObject({ statusCode: 200, headers: { 'content-type': 'text/plain; charset=utf-8' } });
  expect(answer.body).toBe(`${key}\n`);
});

test('sealing prints the checkpoint, which can be proved and verified', async () => {
  useDataDir(service.config.dataDir);
  const missing = await inProcess('proof', String(bookingId));
  expect(missing).toMatchObject({
    code: 1,
    stderr: `ResourceNotFound: No event of booking ${bookingId} is sealed yet. Seal it with: venue seal\n`,
  });
  expect(await inProcess('proof', '4711')).toMatchObject({
    code: 1,
    stderr: 'ResourceNotFound: There is no booking 4711.\n',
  });
  const { size, checkpoint } = await json('seal');
  const printed = await inProcess('seal');
  expect(printed).toEqual({ code: 0, stdout: checkpoint, stderr: '' });
  writeFileSync(at('checkpoint.txt'), printed.stdout);
  await inProcess('export', at('earlier.ndjson'));

  accepted(await service.core.commands.bookings.approve({ bookingId, communityId }, CONTEXT));
  const text = await inProcess('proof', String(bookingId));
  expect(text.stdout).toContain('BookingRequested');
  expect(text.stderr).toContain('Not sealed yet: 1. Seal them with: venue seal');
  const proof = await json('proof', String(bookingId));
  expect(proof).toMatchObject({
    checkpoint,
    events: [{ index: size - 1, event: expect.stringContaining('"BookingRequested"') }],
  });

  expect(await json('verify', '--seals')).toMatchObject({
    confirmed: 1,
    confirmedUpTo: size,
    notCovered: 1,
    notSealed: 1,
  });
  await inProcess('seal');
  const against = await json('verify', '--against', at('checkpoint.txt'), at('earlier.ndjson'));
  expect(against).toMatchObject({ confirmed: 1, confirmedUpTo: size, findings: [], problems: [] });
  expect(against.consistency.from).toBe(checkpoint);

  const { key } = await json('seal-key');
  const written = async (name: string, value: object) => {
    writeFileSync(at(name), JSON.stringify(value, null, 2));
    return at(name);
  };
  const checked = (...args: readonly string[]) => inProcess('verify', '--key', key, '--proof', ...args);
  const first = await written('proof.json', proof);
  expect(await checked(first)).toMatchObject({ code: 0, stderr: expect.stringContaining('Not checked: whether you') });
  expect(await checked(first, '--against', at('checkpoint.txt'))).toEqual({
    code: 0,
    stdout: `proved  1\nsize    ${size}\nkept    yes\n`,
    stderr: '',
  });
  // A later checkpoint needs a growth proof.
  const later = await written('later.json', await json('proof', String(bookingId)));
  const verified = await written('verified.json', against);
  expect(await checked(later, '--against', at('checkpoint.txt'))).toEqual({
    code: 1,
    stdout: '',
    stderr: `NotProved: ${later} leads to a checkpoint of ${size + 1} events that you did not keep, and nothing shows that the log extends one that you kept.\n`,
  });
  const both = ['--against', verified, at('checkpoint.txt')];
  expect((await checked(later, ...both, '--json')).stdout).toBe(
    `${JSON.stringify({ proved: 2, size: size + 1, kept: true }, null, 2)}\n`,
  );
  for (const [consistency, problem] of [
    [{ ...against.consistency, proof: [] }, 'does not show that the log has only grown'],
    [{ ...against.consistency, proof: ['x'] }, 'does not show that the log has only grown'],
    [{ ...against.consistency, from: against.consistency.to, proof: [] }, 'is none of those that were kept'],
    [{ ...against.consistency, to: 'nothing' }, 'the checkpoint that it ends with'],
  ] as const) {
    await written('verified.json', { ...against, consistency });
    const { code, stderr } = await checked(later, ...both);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(`^NotProved: .*${problem}`) });
  }
  for (const file of [at('earlier.ndjson'), first])
    expect(await checked(later, '--against', file)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^ValidationError: .* has no checkpoints and is not the output of venue verify/),
    });
});

describe('a rewritten log', () => {
  /** Writes three checkpoints with the event hashes and an export, then changes event 12. */
  async function rewritten() {
    const folder = temporaryDataDir();
    useDataDir(folder);
    const [file, earlier] = [join(folder, 'seals.txt'), join(folder, 'earlier.ndjson')];
    vi.stubEnv('SEAL_FILE', file);
    vi.stubEnv('SEAL_FILE_LEAVES', 'true');
    for (let round = 0; round < 3; round += 1) {
      for (let n = 0; n < 4; n += 1) await json('brand', 'add', '--name', `Brand ${round}.${n}`);
      await json('seal');
    }
    await inProcess('export', earlier);
    const key = (await inProcess('seal-key')).stdout.trim();
    const database = new DatabaseSync(join(folder, 'events.db'));
    const { id, type, stream } = database.prepare('SELECT * FROM events WHERE position = 13').get() ?? {};
    database.exec(`UPDATE events SET metadata = replace(metadata, 'T', 'U') WHERE position = 13`);
    database.close();
    const lines = readFileSync(file, 'utf8');
    const write = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const notes = lines.replaceAll(/^leaf .*\n/gm, '');
    return { folder, file, earlier, key, write, notes, was: `${type} ${id}, revision 0 of ${stream}` };
  }

  test('one checkpoint detects a change, several narrow it down, and hashes or an earlier export identify the event', async () => {
    const { folder, file, earlier, key, write, notes, was } = await rewritten();
    const last = notes.slice(notes.lastIndexOf('\n\nvenue') + 2);
    const found = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await inProcess('verify', ...args);
      expect(code, stdout).toBe(1);
      expect(stderr.split('\n').at(-2)).toMatch(/^LogNotAsSealed: The log is not what was sealed\. /);
      return stderr;
    };
    const size = Number(last.split('\n')[1]);
    expect(await found('--against', write('last.txt', last), '--key', key)).toContain(
      `One of the first ${size} events was changed or moved after it was sealed.`,
    );
    const between = await found('--against', write('notes.txt', notes));
    expect(between).toMatch(
      / Events up to \d+, counted from 0, are as they were sealed\. One of the events \d+ to \d+ was changed or moved\./,
    );
    expect(await found('--against', file)).toContain(
      `Event 12, counted from 0, differs from the one that was kept. In its place is ${was}.`,
    );
    expect(await found('--against', earlier)).toContain(
      `Event 12, counted from 0, differs from the one that was kept. It was ${was}. In its place is ${was}.`,
    );
    expect(await found('--seals')).toContain('was changed or moved');
    // The stored hashes of the tree are altered too: a log that is not as it was cannot be sealed or proved.
    const records = new DatabaseSync(join(folder, 'records.sqlite'));
    records.exec(`DELETE FROM "sealTiles"`);
    records.close();
    expect((await inProcess('seal')).stderr).toMatch(
      /^LogNotAsSealed: Hashes are missing from what is kept of the tree/,
    );
    const asJson = await inProcess('verify', '--against', file, earlier, '--json');
    expect(asJson.code).toBe(1);
    const findings: { found: string; index?: number }[] = JSON.parse(asJson.stdout).findings;
    expect(findings.map(({ found: what, index }) => [what, index])).toEqual([
      ['changed', undefined],
      ['event', 12],
      ['event', 12],
    ]);
  });

  test('an export shows the same change without a store', async () => {
    const { folder, file, earlier, key } = await rewritten();
    const now = join(folder, 'now.ndjson');
    await inProcess('export', now);
    useDataDir('/nowhere/to/be/found');
    const args = ['verify', '--export', now, '--against', file, earlier, '--key', key];
    expect(await inProcess(...args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Event 12, counted from 0'),
    });
    expect(await inProcess(...args.with(2, earlier))).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^confirmed +3$/m),
    });
  });
});

describe('reports a clear error for', () => {
  async function sealed() {
    const folder = temporaryDataDir();
    useDataDir(folder);
    await json('brand', 'add', '--name', 'Juniper');
    const { checkpoint } = await json('seal');
    const file = join(folder, 'checkpoint.txt');
    writeFileSync(file, checkpoint);
    const log = join(folder, 'log.ndjson');
    await inProcess('export', log);
    return { folder, file, log, checkpoint: String(checkpoint), key: (await inProcess('seal-key')).stdout.trim() };
  }
  const refused = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await inProcess('verify', ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    return stderr;
  };

  test('a checkpoint, a key and an export of another store', async () => {
    const [one, other] = [await sealed(), await sealed()];
    expect(await refused('--against', one.file)).toMatch(
      /^ValidationError: .*checkpoint\.txt: the checkpoint in line 1 is of another log, venue-booking-service\//,
    );
    expect(await refused('--against', one.log)).toMatch(/^ValidationError: .*log\.ndjson belongs to another log, /);
    expect(await refused('--against', other.file, '--key', one.key)).toMatch(
      /^ValidationError: --key belongs to another log, /,
    );
    expect(await refused('--export', other.log, '--against', one.file, '--key', other.key)).toContain(
      'is of another log',
    );
  });

  test('a checkpoint that is altered, cut off, or invalid', async () => {
    const { file, checkpoint, folder } = await sealed();
    writeFileSync(file, checkpoint.replace(/\n(\d)/, '\n1$1'));
    expect(await refused('--against', file)).toContain('that is not one.');
    writeFileSync(file, checkpoint.slice(0, 70));
    expect(await refused('--against', file)).toContain('checkpoint.txt: line');
    writeFileSync(file, '');
    expect(await refused('--against', file)).toBe(`ValidationError: ${file} holds no checkpoint.\n`);
    expect(await refused('--against', join(folder, 'nowhere'))).toContain('nowhere cannot be read: ENOENT');
    expect(await refused('--against', folder)).toContain('cannot be read: EISDIR');
  });

  test('an export that is cut off, altered, or a part of the log', async () => {
    const { file, log, key, folder } = await sealed();
    const text = readFileSync(log, 'utf8');
    const verify = () => refused('--export', log, '--against', file, '--key', key);
    writeFileSync(log, text.slice(0, -200));
    expect(await verify()).toContain('is cut off');
    writeFileSync(log, text.replace('Juniper', 'Jupiter'));
    expect(await verify()).toContain('was changed: its SHA-256 is not that of its last line');
    const part = join(folder, 'part.ndjson');
    await inProcess('export', '--stream', 'log', part);
    expect(await refused('--export', part, '--against', file, '--key', key)).toContain('holds a part of the log');
    expect(await refused('--against', part)).toContain('holds a part of the log');
  });

  test('an invalid proof', async () => {
    const { folder, key, checkpoint } = await sealed();
    const file = join(folder, 'proof.json');
    for (const text of [
      '',
      '[]',
      '{}',
      'null',
      JSON.stringify({ checkpoint, events: [{ index: 0, event: '', proof: [1] }] }),
    ]) {
      writeFileSync(file, text);
      expect(await refused('--proof', file, '--key', key)).toMatch(
        /cannot be read|is not the output of venue proof --json/,
      );
    }
    writeFileSync(file, JSON.stringify({ checkpoint, events: [] }));
    expect(await refused('--proof', file, '--key', key)).toContain('proves nothing. There are no events in it.');
    writeFileSync(file, JSON.stringify({ checkpoint, events: [{ index: 0, event: '{}', proof: [] }] }));
    expect(await refused('--proof', file, '--key', key)).toContain(
      'Event 0 is not in the log that the checkpoint is of',
    );
    expect(await refused('--proof', file, '--key', 'no key')).toContain('--key is no key as venue seal-key prints it.');
  });

  test.each([
    [['--key', 'x'], '--key is for checkpoints'],
    [['--proof', 'x'], '--proof needs --key'],
    [['--proof', 'x', '--key', 'x', '--seals'], '--proof needs --key, and goes with nothing else but --against'],
    [['--export', 'x'], 'An export is compared with something'],
    [['--export', 'x', '--seals', '--against', 'x'], '--seals is for a store'],
  ])('refuses incompatible options: %j', async (args, problem) => {
    useDataDir(temporaryDataDir());
    expect(await inProcess('verify', ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(problem) });
  });

  test('a store that was never sealed, or has no log', async () => {
    useDataDir(temporaryDataDir());
    expect(await refused('--seals')).toBe(
      'ValidationError: The log of this store has no id yet, so it has never been sealed.\n',
    );
    await json('brand', 'add', '--name', 'Juniper');
    expect(await refused('--seals')).toBe('ValidationError: Nothing has been sealed yet. Do so with: venue seal\n');
    // A key without any checkpoint signed by it.
    await json('seal-key');
    expect(await refused('--seals')).toBe('ValidationError: Nothing has been sealed yet. Do so with: venue seal\n');
  });

  test('a seal file that cannot be written after sealing', async () => {
    const folder = temporaryDataDir();
    useDataDir(folder);
    vi.stubEnv('SEAL_FILE', folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    await json('brand', 'add', '--name', 'Juniper');
    const outcome = await inProcess('seal');
    expect(outcome).toMatchObject({ code: 1, stdout: expect.stringContaining('venue-booking-service/') });
    expect(outcome.stderr).toMatch(
      /^NotKeptElsewhere: Sealed, but the checkpoint could not be published\. SEAL_FILE: .*EISDIR/,
    );
    expect((await inProcess('verify', '--seals')).code).toBe(0);
  });
});
