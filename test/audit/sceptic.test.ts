import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signCheckpoint } from '../../src/audit/checkpoint.ts';
import { nodeHash } from '../../src/audit/merkle-tree.ts';
import { hashOfForm } from '../../src/audit/portable-event.ts';
import { obtainSealKey } from '../../src/audit/seal-key.ts';
import { openSealRecords } from '../../src/audit/seal-records.ts';
import { accepted } from '../accepted.ts';
import { inProcess, json, useDataDir } from '../cli/in-process.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { CRYPTOGRAPHY } from '../python.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';
import { envFor, foundAt } from '../tool.ts';
import { asExport } from '../transfer/stores.ts';

/** The program that docs/guides/audit.md shows, to the letter. */
const [, PROGRAM = ''] = /```python\n(.*?)```/s.exec(readFileSync('docs/guides/audit.md', 'utf8')) ?? [];

let service: RunningService;
let bookingId: number;
/** Everything that a sceptic keeps, in the folder of the store. */
const at = (name: string): string => join(service.config.dataDir, name);

beforeAll(async () => {
  service = await runService();
  service.time.now = Date.now();
  const [community, brand] = [await service.community(), await service.brand()];
  const spaceId = await service.space(community);
  const details = { spaceId, date: inDays(30), startHour: 10, message: 'Büfé für 40 🎉' };
  ({ bookingId } = accepted(await service.core.commands.bookings.request({ brandId: brand.id, details }, CONTEXT)));
  const first = await service.core.audit.seal();
  accepted(await service.core.commands.bookings.approve({ bookingId, communityId: community.id }, CONTEXT));
  for (let n = 0; n < 20; n += 1) await service.brand(`Brand ${n}`);
  const second = await service.core.audit.seal();
  for (let n = 0; n < 3; n += 1) await service.brand(`Later ${n}`);
  await service.core.audit.seal();
  writeFileSync(at('check.py'), PROGRAM);
  writeFileSync(at('key.txt'), `${await service.core.audit.makeKey()}\n`);
  writeFileSync(at('seals.txt'), `${first?.note}\n${second?.note}`);
});
afterAll(() => service.stop());

/** What the program says of files that are kept under these names. */
function check(...files: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(foundAt(CRYPTOGRAPHY), ['check.py', ...files], {
    env: envFor(CRYPTOGRAPHY),
    cwd: service.config.dataDir,
    encoding: 'utf8',
  });
  return { status, says: stdout + stderr };
}

async function kept() {
  useDataDir(service.config.dataDir);
  await inProcess('export', at('log.ndjson'));
  writeFileSync(at('proof.json'), JSON.stringify(await json('proof', String(bookingId))));
  const verified = await inProcess('verify', '--against', at('seals.txt'), '--json');
  writeFileSync(at('verified.json'), verified.stdout);
  return { log: readFileSync(at('log.ndjson'), 'utf8'), seals: readFileSync(at('seals.txt'), 'utf8') };
}

test('the program is shorter than 60 lines', () => {
  expect(PROGRAM.split('\n').length).toBeLessThanOrEqual(60);
  expect(PROGRAM).toContain('Ed25519PublicKey');
});

describe.skipIf(lacks(CRYPTOGRAPHY))('the program of docs/guides/audit.md', () => {
  test('confirms a log, a proof of a booking, and that the log extends kept checkpoints', async () => {
    await kept();
    expect(check('key.txt', 'seals.txt', 'log.ndjson', 'verified.json', 'proof.json')).toEqual({
      status: 0,
      says: 'as sealed: 3 files, 2 checkpoints\n',
    });
    const { checkpoint } = JSON.parse(readFileSync(at('proof.json'), 'utf8'));
    writeFileSync(at('all-seals.txt'), `${readFileSync(at('seals.txt'), 'utf8')}\n${checkpoint}`);
    expect(check('key.txt', 'all-seals.txt', 'proof.json').status).toBe(0);
  });

  test('refuses a proof that the holder of the key made for another log', async () => {
    await kept();
    const records = await openSealRecords(service.core.documents);
    const key = await obtainSealKey(records, { ...service.config, logId: () => Promise.reject(new Error('No key')) });
    const { size } = (await records.head()) ?? { size: 0 };
    const event = '{"id":"never happened"}';
    const leaf = hashOfForm(event);
    const proof = Array.from({ length: Math.ceil(Math.log2(size)) }, () => leaf);
    let root = leaf;
    for (const beside of proof) root = nodeHash(root, beside);
    const forged = { index: 0, event, proof: proof.map((hash) => hash.toString('base64')) };
    for (const [checkpoint, with_] of [
      [signCheckpoint(2 ** proof.length, root, key), forged],
      [signCheckpoint(1, leaf, key), { ...forged, proof: [] }],
    ] as const) {
      writeFileSync(at('forged.json'), JSON.stringify({ checkpoint, events: [with_] }));
      expect(check('key.txt', 'seals.txt', 'verified.json', 'forged.json')).toEqual({
        status: 1,
        says: 'NOT AS SEALED: a proof goes back to no checkpoint that was kept\n',
      });
    }
  });

  test('refuses a file without proofs', async () => {
    await kept();
    const proof = JSON.parse(readFileSync(at('proof.json'), 'utf8'));
    const { consistency, ...others } = JSON.parse(readFileSync(at('verified.json'), 'utf8'));
    // What the command prints of a log that is not what was sealed.
    writeFileSync(at('found.json'), JSON.stringify({ ...others, findings: [{ found: 'changed', from: 0, to: 4 }] }));
    writeFileSync(at('empty.json'), JSON.stringify({ ...proof, events: [] }));
    const shown = JSON.stringify({ consistency });
    writeFileSync(at('growth.json'), shown);
    expect(check('key.txt', 'seals.txt', 'growth.json').status).toBe(0);
    expect(check('key.txt', 'seals.txt').says).toBe('NOT AS SEALED: nothing was compared\n');
    expect(check('key.txt', 'seals.txt', 'found.json').says).toBe('NOT AS SEALED: a file shows nothing\n');
    expect(check('key.txt', 'seals.txt', 'growth.json', 'empty.json').status).toBe(1);
  });

  test('and the command line confirms the same files, without a store', async () => {
    await kept();
    useDataDir('/nowhere/to/be/found');
    const key = readFileSync(at('key.txt'), 'utf8');
    const whole = await inProcess('verify', '--export', at('log.ndjson'), '--against', at('seals.txt'), '--key', key);
    expect(whole).toMatchObject({ code: 0, stdout: expect.stringMatching(/^confirmed +2$/m) });
    const proof = await inProcess('verify', '--proof', at('proof.json'), '--key', key);
    expect(proof).toMatchObject({ code: 0, stdout: expect.stringMatching(/^proved +2$/m) });
  });

  test('refuses a log in which any event is altered, missing, put in or moved', async () => {
    const { log } = await kept();
    const lines = log.split('\n');
    const events = lines.flatMap((line, index) =>
      line.includes('"id":') && !line.startsWith('{"export"') ? [index] : [],
    );
    expect(events.length).toBeGreaterThan(25);
    const [first = 0, tenth = 0] = [events[0], events[10]];
    const altered = {
      'a word': lines.with(tenth, (lines[tenth] ?? '').replace(/"correlationId":"./, '"correlationId":"X')),
      'a repeated key': lines.with(tenth, (lines[tenth] ?? '').replace('"data":{', '"data":{"name":"X",')),
      'a space': lines.with(tenth, (lines[tenth] ?? '').replace(':', ': ')),
      missing: lines.toSpliced(first, 1),
      'cut off': lines.slice(0, first + 8),
      'put in': lines.toSpliced(tenth, 0, lines[first] ?? ''),
      moved: lines.with(tenth, lines[tenth + 1] ?? '').with(tenth + 1, lines[tenth] ?? ''),
    };
    const key = readFileSync(at('key.txt'), 'utf8');
    for (const [what, text] of Object.entries(altered)) {
      writeFileSync(at('altered.ndjson'), asExport(text.filter((line) => !/^$|^{"trailer"/.test(line))));
      expect(check('key.txt', 'seals.txt', 'altered.ndjson'), what).toEqual({
        status: 1,
        says: expect.stringMatching(/^NOT AS SEALED: the log of \d+ events\n$/),
      });
      const ours = ['verify', '--export', at('altered.ndjson'), '--against', at('seals.txt'), '--key', key];
      expect(await inProcess(...ours), what).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/LogNotAsSealed: |is not canonical JSON/),
      });
    }
  });

  test('refuses a checkpoint, a key, a proof and a growth with anything altered', async () => {
    const { seals } = await kept();
    const key = readFileSync(at('key.txt'), 'utf8');
    const proof: { checkpoint: string; events: { index: number; event: string; proof: string[] }[] } = JSON.parse(
      readFileSync(at('proof.json'), 'utf8'),
    );
    const verified: { consistency: { from: string; to: string; proof: string[] } } = JSON.parse(
      readFileSync(at('verified.json'), 'utf8'),
    );
    const refuse = (what: string, file: string, text: string) => {
      const good = readFileSync(at(file), 'utf8');
      writeFileSync(at(file), text);
      expect(check('key.txt', 'seals.txt', 'log.ndjson', 'verified.json', 'proof.json').status, what).toBe(1);
      writeFileSync(at(file), good);
    };
    refuse(
      'the size',
      'seals.txt',
      seals.replace(/\n(\d+)\n/, (_, size) => `\n${Number(size) + 1}\n`),
    );
    refuse('the signature', 'seals.txt', seals.replace(/.{6}==?\n/, 'AAAAAA==\n'));
    refuse('the key', 'key.txt', `${key.slice(0, -6)}AAAA\n`);
    refuse('no checkpoint', 'seals.txt', '');
    const [event] = proof.events;
    if (event === undefined) throw new Error('There is no event in the proof');
    const withEvent = (more: object) => JSON.stringify({ ...proof, events: [{ ...event, ...more }] });
    refuse('the index', 'proof.json', withEvent({ index: event.index + 1 }));
    refuse('the event', 'proof.json', withEvent({ event: event.event.replace('2', '3') }));
    refuse('an empty path', 'proof.json', withEvent({ proof: [] }));
    refuse('an over-long path', 'proof.json', withEvent({ proof: [...event.proof, ...event.proof] }));
    refuse('the order', 'proof.json', withEvent({ proof: event.proof.toReversed() }));
    refuse(
      'the checkpoint of a proof',
      'proof.json',
      JSON.stringify({ ...proof, checkpoint: proof.checkpoint.replace('1', '2') }),
    );
    const { consistency } = verified;
    const grown = (more: object) => JSON.stringify({ consistency: { ...consistency, ...more } });
    refuse('a growth without a hash', 'verified.json', grown({ proof: consistency.proof.slice(1) }));
    refuse('a growth in another order', 'verified.json', grown({ proof: consistency.proof.toReversed() }));
    refuse(
      'a growth with one more',
      'verified.json',
      grown({ proof: [...consistency.proof, ...consistency.proof.slice(0, 1)] }),
    );
    refuse('a growth the other way', 'verified.json', grown({ from: consistency.to, to: consistency.from }));
    expect(check('key.txt', 'seals.txt', 'log.ndjson', 'verified.json', 'proof.json').status).toBe(0);
  });
});
