import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Documents, OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { type Heartbeats, startHeartbeats } from '../../src/leases/heartbeats.ts';
import { openProjector, type Projector } from '../../src/projector/projector.ts';
import { verify } from '../../src/projector/verify.ts';
import {
  collectionOf,
  type GenerationId,
  generationName,
  idIn,
  openCatalogue,
} from '../../src/read-models/generations.ts';
import type { NodeStatus } from '../../src/read-models/node-status.ts';
import { ask } from '../document-store/ask.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { replace } from '../document-store/replace.ts';
import { eventually } from '../eventually.ts';
import { IDLE } from '../node-status.ts';
import { appendEvents, counts, type Trail, trails } from './space-trails.ts';

describe.each(documentEngines)('verify on %s', (_name, createDatabase) => {
  let folder: string;
  let database: TestDatabase;
  let events: OperatedEventStore;
  let documents: OperatedDocumentStore;
  let projector: Projector;
  let heartbeats: Heartbeats<NodeStatus>;
  let live: Documents<Trail>;
  let generation: GenerationId;
  const projections = [trails(), counts];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'venue-verified-'));
    events = await openSqliteEventStore({ path: join(folder, 'events.sqlite') });
    database = await createDatabase();
    documents = await database.open();
    const status: NodeStatus = { ...IDLE, projects: true };
    heartbeats = await startHeartbeats<NodeStatus>({ documents, status });
    projector = await openProjector({
      events,
      documents,
      projections,
      heartbeats,
      logger: { info: vi.fn(), warn: vi.fn(), error: vi.fn() },
      tickMs: 20,
    });
    projector.start();
    await projector.readModels.readable(10_000);
    await projector.readModels.waitFor(await appendMany(600));
    // The checkpoint may be stored a moment after the documents.
    await eventually(async () =>
      expect([...(await documents.checkpoints()).values()]).toMatchObject([{ events: 600 }]),
    );
    const { document } = await (await openCatalogue(documents)).read();
    generation = idIn(document, generationName(projections), 'live') ?? '0.0';
    live = await documents.open<Trail>(collectionOf(trails(), generation));
  });
  afterEach(async () => {
    await projector.stop();
    await heartbeats.stop();
    await database.remove();
    await events.close();
    await rm(folder, { recursive: true });
  });

  const openScratch = (folder: string) => openSqliteDocumentStore({ folder });
  const appendMany = (count: number) => appendEvents(events, count, 40);
  const run = () => verify({ events, documents, projections, openScratch });

  it('finds no differences if the read models equal the log, and leaves no files behind', async () => {
    const names = await documents.names();
    const scratch = join(folder, 'scratch');
    await mkdir(scratch);
    vi.stubEnv('TMPDIR', scratch);
    const progress: number[] = [];
    const found = await verify({
      events,
      documents,
      projections,
      openScratch,
      onProgress: ({ done }) => progress.push(done),
    });
    expect(found).toMatchObject({ events: 600, differences: [], notVerified: [] });
    expect(found.documents).toBe((await live.count(ask())) + 3);
    expect(progress.at(-1)).toBe(600);
    expect(await documents.names()).toEqual(names);
    expect(await readdir(scratch)).toEqual([]);
    vi.unstubAllEnvs();
  });

  it('finds a document that differs, one that is missing and one that should not exist', async () => {
    const [first, second] = await Array.fromAsync(live.find(ask({ limit: 2 })));
    if (first === undefined || second === undefined) throw new Error('There are documents');
    await replace(live, first.key, { ...first.document, trail: ['forged'] }, first.version);
    await live.delete(second.key);
    await live.insert('999', { spaceId: 999, trail: [] });
    const { differences } = await run();
    expect(differences).toHaveLength(3);
    expect(differences).toContainEqual({
      projection: 'trails',
      key: first.key,
      expected: first.document,
      actual: { ...first.document, trail: ['forged'] },
    });
    expect(differences).toContainEqual({ projection: 'trails', key: second.key, expected: second.document });
    expect(differences).toContainEqual({ projection: 'trails', key: '999', actual: { spaceId: 999, trail: [] } });
    for (let key = 900; key < 910; key += 1) await live.insert(String(key), { spaceId: key, trail: [] });
    expect((await run()).differences).toHaveLength(10);
  });

  it('ignores events that are appended during the run', async () => {
    let writing = true;
    const writer = (async () => {
      while (writing) await appendMany(5);
    })();
    for (let round = 0; round < 5; round++) expect((await run()).differences).toEqual([]);
    writing = false;
    await writer;
  });

  it('waits for read models under construction, as after a restore', async () => {
    await projector.stop();
    await heartbeats.stop();
    for (const name of ['readModelGenerations', generation]) await documents.drop(name);
    const status: NodeStatus = { ...IDLE, projects: true };
    const again = await database.open();
    heartbeats = await startHeartbeats<NodeStatus>({ documents: again, status });
    const logger = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
    projector = await openProjector({ events, documents: again, projections, heartbeats, logger, tickMs: 20 });
    projector.start();
    await eventually(async () => expect((await (await openCatalogue(again)).read()).document.begun).toBe(1));
    const found = await verify({ events, documents: again, projections, openScratch });
    expect(found).toMatchObject({ events: 600, differences: [], notVerified: [] });
  });

  it('fails when the read models are replaced meanwhile, instead of reporting differences', async () => {
    const catalogue = await openCatalogue(documents);
    const replaced = verify({
      events,
      projections,
      openScratch,
      documents: {
        ...documents,
        async open(collection) {
          const opened = await documents.open(collection);
          if (collection.generation !== undefined)
            await catalogue.apply({ type: 'Wanted', names: [], elapsedMs: 2, retireAfterMs: 1 });
          return opened;
        },
      },
    });
    await expect(replaced).rejects.toThrow('Verify them again');
  });

  it('lists the read models that it did not verify', async () => {
    const later = await verify({ events, documents, projections: [trails(2), counts], openScratch });
    expect(later).toMatchObject({ notVerified: ['trails', 'counts'], differences: [] });
  });
});
