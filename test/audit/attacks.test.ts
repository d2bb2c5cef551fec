import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import type { Finding, KeptLeaf } from '../../src/audit/check-log.ts';
import { checkStore } from '../../src/audit/check-store.ts';
import { leafHash, type PortableEvent, portableEvent } from '../../src/audit/portable-event.ts';
import { readRetainedCheckpoints } from '../../src/audit/retained-checkpoints.ts';
import { publishedKey } from '../../src/audit/seal-key.ts';
import { sealLog } from '../../src/audit/seal-log.ts';
import { signerKey } from '../../src/audit/signed-note.ts';
import { purposes } from '../../src/secrets/purposes.ts';
import { unseal } from '../../src/secrets/seal.ts';
import { replace } from '../document-store/replace.ts';
import { SECRET_KEY, sealedStore } from './sealed-store.ts';

/** Attacks by a holder of service, database and keys. Each changes one thing among 300 sealed events, the one with the index 200 first. */
const ATTACKS: Readonly<Record<string, { readonly work: (database: DatabaseSync) => void; readonly isCut?: true }>> = {
  'rewrites an event': {
    work: (database) => database.exec(`UPDATE events SET data = '{"n":-1}' WHERE position = 201`),
  },
  're-stamps an event': {
    work: (database) =>
      database.exec(`UPDATE events SET metadata = replace(metadata, '06:00:00', '06:00:01') WHERE position = 201`),
  },
  'gives an event another id': { work: (database) => database.exec(`UPDATE events SET id = 'x' WHERE position = 201`) },
  'gives an event another type': {
    work: (database) => database.exec(`UPDATE events SET type = 'SpaceClosed' WHERE position = 201`),
  },
  'moves an event to another stream': {
    work: (database) => database.exec(`UPDATE events SET stream = 'space-9', revision = 0 WHERE position = 201`),
  },
  'removes an event': { work: (database) => database.exec('DELETE FROM events WHERE position = 201'), isCut: true },
  'reorders two events': {
    work(database) {
      database.exec('UPDATE events SET position = 100000 WHERE position = 201');
      database.exec('UPDATE events SET position = 201 WHERE position = 202');
      database.exec('UPDATE events SET position = 202 WHERE position = 100000');
    },
  },
  'puts an event in between': {
    work(database) {
      database.exec('UPDATE events SET position = position + 100000 WHERE position >= 201');
      database.exec('UPDATE events SET position = position - 99999 WHERE position > 100000');
      database.exec(`INSERT INTO events (position, stream, revision, id, type, data, metadata)
                     VALUES (201, 'space-9', 0, 'put-in', 'SpaceClosed', '{}', '{}')`);
    },
  },
  'cuts the log': { work: (database) => database.exec('DELETE FROM events WHERE position > 200'), isCut: true },
};

/** A store with three checkpoints, and copies of everything that an auditor may have kept. */
async function keptStore() {
  const store = await sealedStore();
  const [file, leavesFile] = [join(store.folder, 'seals.txt'), join(store.folder, 'seals-with-leaves.txt')];
  const { seal } = await store.sealing({ sealFile: file });
  const other = await store.sealing({ sealFile: leavesFile, sealFileLeaves: true });
  for (const count of [100, 100, 100]) {
    await store.append(count);
    await seal();
    await other.seal();
  }
  const key = await publishedKey(store.records);
  if (key === undefined) throw new Error('There is no key');
  const earlier = (await store.all()).map(portableEvent);
  const kept = await readRetainedCheckpoints(file, key);
  const last = join(store.folder, 'last.txt');
  writeFileSync(last, kept.checkpoints.at(-1)?.note ?? '');
  return { ...store, seal, key, earlier, files: { one: last, several: file, withLeaves: leavesFile } };
}
type Kept = Awaited<ReturnType<typeof keptStore>>;

async function check(
  store: Kept,
  file: string | undefined,
  more: { seals?: boolean; export?: readonly PortableEvent[] } = {},
) {
  const { checkpoints, leaves } =
    file === undefined ? { checkpoints: [] } : await readRetainedCheckpoints(file, store.key);
  async function* exported(events: readonly PortableEvent[]): AsyncGenerator<KeptLeaf> {
    for (const event of events) yield { hash: leafHash(event), event };
  }
  return checkStore({
    events: store.events(),
    documents: store.documents,
    seals: more.seals ?? false,
    checkpoints,
    leaves: [
      ...(leaves === undefined ? [] : [leaves()]),
      ...(more.export === undefined ? [] : [exported(more.export)]),
    ],
  });
}

/** The attacker deletes the seals and seals the altered log again with the stolen key. */
async function coverUp({ documents, records, events }: Kept): Promise<void> {
  const { document } = (await records.key.get('log')) ?? {};
  if (document === undefined) throw new Error('There is no key');
  const key = signerKey(
    document.origin,
    JSON.parse(unseal(SECRET_KEY, purposes.sealKey(document.origin), document.sealedKey)),
  );
  const length = (await Array.fromAsync(events().readAll())).length;
  await documents.drop('seals');
  await documents.drop('sealTiles');
  const { openSealRecords } = await import('../../src/audit/seal-records.ts');
  const reopened = await openSealRecords(documents);
  for (const size of [100, 200, length]) {
    const all = { readStream: events().readStream.bind(events()), readAll: limitedTo(size, events()) };
    await sealLog({ events: all, records: reopened, key });
  }
}

/** Appends 150 events to the log, which may be empty or not. */
function append150(database: DatabaseSync): void {
  const insert = database.prepare(
    `INSERT INTO events (stream, revision, id, type, data, metadata) VALUES (?, 0, ?, 'BrandAdded', '{}', '{}')`,
  );
  for (let more = 0; more < 150; more += 1) insert.run(`brand-${more}`, `more-${more}`);
}

const limitedTo = (size: number, events: ReturnType<Kept['events']>) =>
  async function* ({ after = '' }: { readonly after?: string } = {}) {
    let at = 0;
    for await (const event of events.readAll()) {
      at += 1;
      if (at <= size && event.position > after) yield event;
    }
  };

const kinds = (findings: readonly Finding[]): string[] => findings.map(({ found }) => found);

describe('an unchanged log', () => {
  test('matches everything kept, and the newest checkpoint extends a kept one', async () => {
    const store = await keptStore();
    await store.append(7);
    await store.seal();
    await store.append(2);
    for (const file of Object.values(store.files)) {
      const found = await check(store, file, { seals: true, export: store.earlier });
      expect(found).toMatchObject({ events: 309, sealed: 307, confirmedUpTo: 307, findings: [], problems: [] });
      expect(found.consistency?.to).toContain('\n307\n');
    }
    expect((await check(store, store.files.several)).confirmed).toBe(4);
  });
});

test.each(Object.entries(ATTACKS))('verify detects an attacker who holds everything and %s', async (_, attack) => {
  const { work, isCut } = attack;
  const expected = isCut ? 'cut' : 'changed';
  const store = await keptStore();
  const byOne = async () => kinds((await check(store, store.files.one)).findings);
  await store.attack(work);
  expect(await byOne(), 'one kept checkpoint').toEqual([expected]);
  const byItself = await check(store, undefined, { seals: true });
  expect(kinds(byItself.findings), 'the seals in the store').toContain(expected);

  // The attacker sealed everything again with the stolen key, so the store is consistent in itself.
  await coverUp(store);
  expect(await check(store, undefined, { seals: true })).toMatchObject({ findings: [], problems: [] });
  expect(await byOne(), 'one kept checkpoint after sealing again').toEqual([expected]);
  expect((await check(store, store.files.one)).consistency).toBeUndefined();

  // Several checkpoints tell between which two, hashes or an earlier export tell which event.
  const bySeveral = await check(store, store.files.several);
  expect(bySeveral.confirmedUpTo).toBe(200);
  const between = { found: 'changed', from: 200, to: 300 };
  expect(bySeveral.findings).toContainEqual(isCut ? expect.objectContaining({ found: 'cut', sealed: 300 }) : between);
  const event = async (file: string | undefined, exported?: readonly PortableEvent[]) => {
    const { findings } = await check(store, file, exported && { export: exported });
    return findings.find(({ found }) => found === 'event');
  };
  const was = store.earlier[200];
  const label = was && { id: was.id, type: was.type, stream: was.stream, revision: was.revision };
  expect(await event(store.files.withLeaves)).toMatchObject({ index: 200 });
  expect(await event(undefined, store.earlier)).toMatchObject({ index: 200, kept: label });

  // The same when the log goes on, and later checkpoints of the altered log hold.
  await store.attack(append150);
  expect(await byOne(), 'one kept checkpoint after more events').toEqual(['changed']);
  await expect(store.seal(), 'with SEAL_FILE').rejects.toThrow('that this log does not begin with');
  const later = await (await store.sealing()).seal();
  const file = join(store.folder, 'with-later.txt');
  writeFileSync(file, `${readFileSync(store.files.several, 'utf8')}\n${later?.note}`);
  const { confirmedUpTo, findings } = await check(store, file);
  expect({ confirmedUpTo, findings }).toEqual({ confirmedUpTo: 200, findings: [between] });
});

test('verify detects a change of any single byte of an event', async () => {
  const store = await keptStore();
  const texts = [store.earlier[200]?.id ?? '', '"n":', '06:00:00', 'schema', 'Zoë', '😀'];
  for (const text of texts) {
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 6);
    let before: unknown;
    await store.attack((database) => {
      before = database.prepare('SELECT id, data, metadata FROM events WHERE position = 201').get();
      for (const column of ['id', 'data', 'metadata'])
        database
          .prepare(`UPDATE events SET ${column} = replace(${column}, ?, ?) WHERE position = 201`)
          .run(text, text.startsWith('"') ? `"${hash}":` : `${text.slice(0, -1)}${text === '06:00:00' ? 1 : hash}`);
    });
    const after = (await store.all())[200];
    expect(after, text).not.toEqual({ ...store.earlier[200], position: after?.position });
    expect(kinds((await check(store, store.files.one)).findings), text).toEqual(['changed']);
    await store.attack((database) => {
      const row: Record<string, unknown> = Object(before);
      database
        .prepare('UPDATE events SET id = ?, data = ?, metadata = ? WHERE position = 201')
        .run(String(row.id), String(row.data), String(row.metadata));
    });
    expect((await check(store, store.files.one)).findings).toEqual([]);
  }
});

test('verify also compares the store’s own hashes and checkpoints', async () => {
  const store = await keptStore();
  const tiles = await store.documents.open<{ hashes: string }>({ name: 'sealTiles', kind: 'record', indexes: [] });
  const stored = await tiles.get('0/0000000000000000');
  const hashes = Buffer.from(stored?.document.hashes ?? '', 'base64');
  hashes[32 * 77] = (hashes[32 * 77] ?? 0) ^ 1;
  await replace(tiles, '0/0000000000000000', { hashes: hashes.toString('base64') }, stored?.version ?? 0);
  expect((await check(store, undefined, { seals: true })).findings).toEqual([{ found: 'tree', level: 0, index: 77 }]);
  // What was kept elsewhere is not affected: nothing is wrong with the log.
  expect((await check(store, store.files.withLeaves)).findings).toEqual([]);

  const seals = await store.documents.open<object>({ name: 'seals', kind: 'record', indexes: [] });
  const head = await store.records.head();
  await replace(seals, '0000000000000300', { ...head, note: head?.note.replace('\n300\n', '\n301\n') }, 1);
  expect((await check(store, undefined, { seals: true })).problems).toEqual([
    expect.stringMatching(/^The checkpoint of 300 events has a signature .* that is not one$/),
  ]);
  await replace(seals, '0000000000000300', { ...head, size: 299 }, 2);
  expect((await check(store, undefined, { seals: true })).problems).toEqual([
    'The checkpoint of 299 events is one of 300',
  ]);
});
