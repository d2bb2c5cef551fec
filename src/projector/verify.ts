import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { Documents, OperatedDocumentStore, Projected } from '../document-store/document-store.ts';
import { everyDocument } from '../document-store/queries.ts';
import { defined } from '../domain/defined.ts';
import { type EventStore, LOG_START, type Position } from '../event-store/event-store.ts';
import { collectionOf, generationName, idIn, openCatalogue, START } from '../read-models/generations.ts';
import { inPages } from '../runtime/in-pages.ts';
import { createTarget, foldInto, type Target } from './fold.ts';
import { upTo } from './follow.ts';
import { readSkippedEvents } from './skipped-events.ts';

/** A document that differs from the log. `expected` is absent if it should not exist, `actual` if it is missing. */
export type Difference = {
  readonly projection: string;
  readonly key: string;
  readonly expected?: Row;
  readonly actual?: Row;
};

export type Verification = {
  /** Position of the read models. */
  readonly position: Position;
  readonly events: number;
  readonly documents: number;
  /** The first differences found, up to the limit. */
  readonly differences: readonly Difference[];
  /** Read models left out: failing, unbuilt, or missing in this release's version. */
  readonly notVerified: readonly string[];
};

const CHUNK = 500;

/**
 * Replays the log and compares every document with the live read models (docs/decisions/read-models.md). Safe beside a running
 * service: a document that changes meanwhile is compared at its new position. The replay uses a scratch file on this machine.
 * @param onProgress gets the number of events replayed and, once counted, of all events
 * @param limit differences to report, default 10
 */
export async function verify(deps: {
  readonly events: EventStore;
  readonly documents: OperatedDocumentStore;
  readonly projections: readonly AnyProjection[];
  /** Opens a store of this machine in an empty folder, which is removed afterwards. */
  readonly openScratch: (folder: string) => Promise<OperatedDocumentStore>;
  readonly onProgress?: (progress: { readonly done: number; readonly total?: number }) => void;
  readonly limit?: number;
}): Promise<Verification> {
  const folder = await mkdtemp(join(tmpdir(), 'venue-verify-'));
  const scratch = await deps.openScratch(folder);
  try {
    return await verifyWith(scratch, deps);
  } finally {
    await scratch.close();
    await rm(folder, { recursive: true });
  }
}

type Compared = Target & { readonly replayed: Documents<Row>; readonly live: Documents<Row> };

/** How long to wait for a first build that makes no progress. */
const PROGRESS_WITHIN_MS = 30_000;
const CHECK_EVERY_MS = 50;

/** The live generation of this release and its checkpoint. Waits for a first build, as after a restore. */
async function liveGeneration({ documents, projections }: Parameters<typeof verify>[0]) {
  const catalogue = await openCatalogue(documents);
  const name = generationName(projections);
  let done = -1;
  for (let deadline = 0; ; await delay(CHECK_EVERY_MS)) {
    const { document } = await catalogue.read();
    const [live, building] = [idIn(document, name, 'live'), idIn(document, name, 'building')];
    const id = live ?? building;
    const checkpoint = id && (await documents.checkpoints([id])).get(id);
    if (live !== undefined && checkpoint !== undefined) return { id: live, checkpoint };
    const events = checkpoint?.events ?? 0;
    if (events > done) deadline = performance.now() + PROGRESS_WITHIN_MS;
    done = events;
    if (building === undefined || performance.now() >= deadline) return undefined;
  }
}

/** The read models that can be verified. */
async function comparable(scratch: OperatedDocumentStore, deps: Parameters<typeof verify>[0]) {
  const { events, documents, projections } = deps;
  const current = await liveGeneration(deps);
  const { checkpoint = START } = current ?? {};
  const isVerified = ({ name }: AnyProjection) =>
    current !== undefined && !checkpoint.failing.some((each) => each.name === name);
  const targets = await Promise.all(
    projections.filter(isVerified).map(async (projection): Promise<Compared> => {
      const replayed: Documents<Row> = await scratch.open({ name: projection.name, kind: 'readModel', indexes: [] });
      const target = createTarget(projection, replayed, await readSkippedEvents(events, projection));
      return { ...target, replayed, live: await documents.open(collectionOf(projection, current?.id ?? '')) };
    }),
  );
  const notVerified = projections.filter((each) => !isVerified(each)).map(({ name }) => name);
  /** Whether the generation has not been replaced and dropped meanwhile. */
  const isThere = async () =>
    current === undefined ||
    (await (await openCatalogue(documents)).read()).document.generations[current.id] !== undefined;
  return { targets, checkpoint, notVerified, isThere };
}

async function verifyWith(scratch: OperatedDocumentStore, deps: Parameters<typeof verify>[0]): Promise<Verification> {
  const { events, onProgress, limit = 10 } = deps;
  const { targets, checkpoint, notVerified, isThere } = await comparable(scratch, deps);

  let position: Position = LOG_START;
  let replayed = 0;
  /** Replays the log up to and including `end`. */
  async function replay(end: Position): Promise<void> {
    if (end <= position) return;
    for await (const chunk of inPages(upTo(events.readAll({ after: position }), end), CHUNK)) {
      await Promise.all(targets.map((target) => foldInto(target, chunk)));
      replayed += chunk.length;
      onProgress?.({ done: replayed, total: Math.max(checkpoint.events, replayed) });
    }
    position = end;
  }
  await replay(checkpoint.position);
  const verified = position;

  const differences: Difference[] = [];
  const ahead: { readonly target: Compared; readonly key: string }[] = [];
  function judge({ projection }: Compared, key: string, expected: Row | undefined, actual: Row | undefined): void {
    if (differences.length >= limit || isDeepStrictEqual(expected, actual)) return;
    differences.push(defined({ projection: projection.name, key, expected, actual }));
  }

  /** Compares documents with the replay. Those that have changed since are compared later. */
  async function compare(target: Compared, keys: readonly string[]): Promise<void> {
    const wanted = await target.replayed.projected(keys);
    const found = await target.live.projected(keys);
    for (const key of keys) {
      const expected = wanted.get(key)?.document;
      let actual = found.get(key);
      if (actual !== undefined && isDeepStrictEqual(expected, actual.document)) continue;
      // The document was not projected, or was written after the replay.
      const stray = actual === undefined ? await target.live.get(key) : undefined;
      if (stray !== undefined) actual = (await target.live.projected([key])).get(key);
      if (actual !== undefined && actual.position > verified) ahead.push({ target, key });
      else judge(target, key, expected, actual?.document ?? stray?.document);
    }
  }

  let compared = 0;
  for (const target of targets) {
    for await (const keys of chunksOf(target.replayed)) {
      compared += keys.length;
      await compare(target, keys);
    }
    for await (const keys of chunksOf(target.live)) {
      const wanted = await target.replayed.projected(keys);
      await compare(
        target,
        keys.filter((key) => wanted.get(key)?.document === undefined),
      );
    }
  }

  // Documents that have changed are compared at their current positions; the replay advances from one to the next.
  const moved: { readonly target: Compared; readonly actual: Projected<Row> }[] = [];
  for (const { target, key } of ahead) {
    const actual = (await target.live.projected([key])).get(key);
    if (actual !== undefined) moved.push({ target, actual });
  }
  moved.sort((a, b) => (a.actual.position < b.actual.position ? -1 : 1));
  for (const { target, actual } of moved) {
    await replay(actual.position);
    const expected = (await target.replayed.projected([actual.key])).get(actual.key);
    judge(target, actual.key, expected?.document, actual.document);
  }
  if (!(await isThere())) throw new Error('The read models were rebuilt while they were verified. Verify them again.');
  return { position: verified, events: replayed, documents: compared, differences, notVerified };
}

async function* chunksOf(documents: Documents<Row>): AsyncGenerator<string[]> {
  for await (const page of inPages(documents.find(everyDocument()), CHUNK)) yield page.map(({ key }) => key);
}
