import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import type { AnyProjection, Projection } from '../../projections/projection.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { type Heartbeats, startHeartbeats } from '../../src/leases/heartbeats.ts';
import { openProjector, type Projector, type ProjectorDeps } from '../../src/projector/projector.ts';
import { rebuild } from '../../src/projector/rebuild.ts';
import { type GenerationId, generationName, idIn, openCatalogue } from '../../src/read-models/generations.ts';
import { READ_MODEL_LEASES } from '../../src/read-models/leases.ts';
import type { NodeStatus } from '../../src/read-models/node-status.ts';
import { type LiveReadModels, openReadModels, type ReadModels } from '../../src/read-models/read-models.ts';
import { ask } from '../document-store/ask.ts';
import { eventually } from '../eventually.ts';
import { IDLE } from '../node-status.ts';
import { appendEvents, counts, expected, trails } from './space-trails.ts';

/** The folder and the log of the test that runs. */
export let folder: string;
export let events: OperatedEventStore;
/** What ends with the test, the last one first. */
export const ends: (() => Promise<void>)[] = [];
/** Functions that end the processes that only read. */
export const readers: (() => Promise<void>)[] = [];

/** Gives each test of the file that calls it a log of its own. */
export function logOfEachTest(): void {
  beforeEach(async () => {
    vi.clearAllMocks();
    folder = await mkdtemp(join(tmpdir(), 'venue-projector-'));
    events = await openSqliteEventStore({ path: join(folder, 'events.sqlite') });
  });
  afterEach(async () => {
    readers.length = 0;
    for (const end of ends.splice(0).reverse()) await end();
    await events.close();
    await rm(folder, { recursive: true });
  });
}

export const logger = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
/** Longer than a reader may cache a swapped-out collection. */
export const GRACE_MS = 1_200;
export const BOTH: readonly AnyProjection[] = [trails(), counts];

/** The heartbeat of another process of the service. */
export async function beating(documents: OperatedDocumentStore, silenceMs = 600): Promise<Heartbeats<NodeStatus>> {
  const status: NodeStatus = IDLE;
  const heartbeats = await startHeartbeats<NodeStatus>({ documents, status, silenceMs });
  ends.push(() => heartbeats.stop());
  return heartbeats;
}

/** On a busy machine a server needs seconds for what takes milliseconds otherwise. */
const patient = ({ waitFor }: Pick<LiveReadModels, 'waitFor'>): Pick<LiveReadModels, 'waitFor'> => ({
  waitFor: (position, options) => waitFor(position, { timeoutMs: 20_000, ...options }),
});

/** A process that projects. */
export async function start(
  documents: OperatedDocumentStore,
  projections: readonly AnyProjection[] = BOTH,
  options: Partial<ProjectorDeps> = {},
): Promise<Projector & { stop(): Promise<void>; stopProjecting(): Promise<void> }> {
  const heartbeats = options.heartbeats ?? (await beating(documents));
  const projector = await openProjector({
    events,
    documents,
    projections,
    logger,
    tickMs: 20,
    graceMs: GRACE_MS,
    ...options,
    heartbeats,
  });
  projector.start();
  const stop = async () => {
    await projector.stop();
    await heartbeats.stop();
  };
  ends.push(stop);
  return {
    ...projector,
    readModels: { ...projector.readModels, ...patient(projector.readModels) },
    stop,
    stopProjecting: projector.stop,
  };
}

/** A process that only reads. */
export async function read(
  documents: OperatedDocumentStore,
  projections: readonly AnyProjection[] = BOTH,
): Promise<LiveReadModels> {
  const heartbeats = await beating(documents);
  const reading = await openReadModels({ events, documents, projections, heartbeats });
  const end = async () => {
    await reading.close();
    await heartbeats.stop();
  };
  readers.push(end);
  ends.push(end);
  return { ...reading, ...patient(reading) };
}

export const appendMany = (count: number, spaces = 10) => appendEvents(events, count, spaces);

export async function expectToEqualTheLog<D extends object>(readModels: ReadModels, projection: Projection<D>) {
  const pages = await Array.fromAsync(readModels.collection(projection).pages(ask()), ({ rows }) => rows);
  const found = new Map(pages.flat().map((row) => [row.key, row.read()]));
  expect(found).toEqual(await expected(events, projection));
}

/** On a busy machine, a process that misses heartbeats counts as dead for a moment, and its read models as unattended. */
export const expectToBeHealthy = (readModels: LiveReadModels) =>
  eventually(async () => expect(await readModels.status()).toMatchObject({ lag: 0, caughtUp: true, problems: [] }));

/** A projection that rejects the events of a stream while `isBroken` returns true. */
export const fragile = (isBroken: () => boolean, stream = 'space-3'): AnyProjection => ({
  ...counts,
  evolve(document, event) {
    if (isBroken() && event.stream === stream) throw new Error('cannot count');
    return counts.evolve(document === undefined ? undefined : { communityId: 0, events: 0, ...document }, event);
  },
});
export const catalogueOf = async (documents: OperatedDocumentStore) =>
  (await (await openCatalogue(documents)).read()).document;
export const liveOf = async (documents: OperatedDocumentStore, projections = BOTH): Promise<GenerationId> =>
  idIn(await catalogueOf(documents), generationName(projections), 'live') ?? '0.0';
export const failuresIn = async (documents: OperatedDocumentStore, projections = BOTH) => {
  const id = await liveOf(documents, projections);
  return (await documents.checkpoints([id])).get(id)?.failing ?? [];
};
export const eventsIn = async (documents: OperatedDocumentStore) =>
  [...(await documents.checkpoints()).values()].map(({ events }) => events);
/** Rebuilds as the command line does, in another process. */
export const rebuildIn = async (
  documents: OperatedDocumentStore,
  options: Partial<Parameters<typeof rebuild>[0]> = {},
) =>
  rebuild({
    events,
    documents,
    projections: BOTH,
    logger,
    heartbeats: await beating(documents),
    ...options,
  });

/** The store of a process that believes to hold every lease of read models. */
export const withOtherLeases = (documents: OperatedDocumentStore): OperatedDocumentStore => ({
  ...documents,
  open: (collection) =>
    documents.open(collection.name === READ_MODEL_LEASES ? { ...collection, name: 'otherLeases' } : collection),
});
