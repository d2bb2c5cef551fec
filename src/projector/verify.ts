import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { DocumentStore, Documents, Projected } from '../document-store/document-store.ts';
import { everyDocument } from '../document-store/queries.ts';
import { defined } from '../domain/defined.ts';
import type { Recorded } from '../domain/events.ts';
import { upcast } from '../domain/upcast.ts';
import { type EventStore, LOG_START, type Position } from '../event-store/event-store.ts';
import { collectionOf, openProjectorState, SINGLETON_KEY } from '../read-models/projector-state.ts';
import { createTarget, fold, type Target } from './fold.ts';

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
  /** Read models that were skipped: still being built, or built by another version of the service. */
  readonly notVerified: readonly string[];
};

const CHUNK = 500;

/**
 * Replays the log and compares every document with the live read models (docs/decisions/rebuild-and-verify.md). Safe beside a
 * running service: a document that changes meanwhile is compared at its new position. The replay goes to a scratch file on
 * this machine.
 * @param onProgress gets the number of events replayed and, once counted, of all events
 * @param limit differences to report, default 10
 */
export async function verify(deps: {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly projections: readonly AnyProjection[];
  /** Opens a store of this machine in an empty folder, which is removed afterwards. */
  readonly openScratch: (folder: string) => Promise<DocumentStore>;
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

type Compared = Target & { readonly live: Documents<Row> };

async function verifyWith(
  scratch: DocumentStore,
  { events, documents, projections, onProgress, limit = 10 }: Parameters<typeof verify>[0],
): Promise<Verification> {
  const { checkpoints, pointers } = await openProjectorState(documents);
  const targets: Compared[] = [];
  const notVerified: string[] = [];
  for (const projection of projections) {
    const pointer = await pointers.get(projection.name);
    if (pointer?.document.version !== projection.version) {
      notVerified.push(projection.name);
      continue;
    }
    const replayed: Documents<Row> = await scratch.open({ name: projection.name, kind: 'readModel', indexes: [] });
    const live: Documents<Row> = await documents.open(collectionOf(projection, pointer.document.collection));
    targets.push({ ...createTarget(projection, replayed), live });
  }

  const checkpoint = await checkpoints.get(SINGLETON_KEY);
  let position: Position = LOG_START;
  let replayed = 0;
  /** Replays the log up to and including `end`. */
  async function replay(end: Position): Promise<void> {
    if (end <= position) return;
    let chunk: Recorded[] = [];
    const flush = async () => {
      await fold(targets, chunk);
      replayed += chunk.length;
      chunk = [];
      const total = checkpoint?.document.events;
      onProgress?.(defined({ done: replayed, total: total && Math.max(total, replayed) }));
    };
    for await (const event of events.readAll({ after: position })) {
      if (event.position > end) break;
      if (chunk.push(upcast(event)) === CHUNK) await flush();
    }
    await flush();
    position = end;
  }
  await replay(checkpoint?.document.position ?? LOG_START);
  const verified = position;

  const differences: Difference[] = [];
  const ahead: { readonly target: Compared; readonly key: string }[] = [];
  function judge({ projection }: Compared, key: string, expected: Row | undefined, actual: Row | undefined): void {
    if (differences.length >= limit || isDeepStrictEqual(expected, actual)) return;
    differences.push(defined({ projection: projection.name, key, expected, actual }));
  }

  /** Compares documents with the replay. Those that have changed since are left for later. */
  async function compare(target: Compared, keys: readonly string[]): Promise<void> {
    const wanted = await target.documents.projected(keys);
    const found = await target.live.projected(keys);
    for (const key of keys) {
      const expected = wanted.get(key)?.document;
      let actual = found.get(key);
      if (actual !== undefined && isDeepStrictEqual(expected, actual.document)) continue;
      // No projection wrote it, or it was written after the replay.
      const stray = actual === undefined ? await target.live.get(key) : undefined;
      if (stray !== undefined) actual = (await target.live.projected([key])).get(key);
      if (actual !== undefined && actual.position > verified) ahead.push({ target, key });
      else judge(target, key, expected, actual?.document ?? stray?.document);
    }
  }

  let compared = 0;
  for (const target of targets) {
    for await (const keys of chunksOf(target.documents)) {
      compared += keys.length;
      await compare(target, keys);
    }
    for await (const keys of chunksOf(target.live)) {
      const wanted = await target.documents.projected(keys);
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
    const expected = (await target.documents.projected([actual.key])).get(actual.key);
    judge(target, actual.key, expected?.document, actual.document);
  }
  return { position: verified, events: replayed, documents: compared, differences, notVerified };
}

async function* chunksOf(documents: Documents<Row>): AsyncGenerator<string[]> {
  let keys: string[] = [];
  for await (const { key } of documents.find(everyDocument())) {
    if (keys.push(key) < CHUNK) continue;
    yield keys;
    keys = [];
  }
  if (keys.length > 0) yield keys;
}
