import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { Documents, OperatedDocumentStore, Projected } from '../document-store/document-store.ts';
import { everyDocument } from '../document-store/queries.ts';
import { defined } from '../domain/defined.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { type EventStore, LOG_START, type Position } from '../event-store/event-store.ts';
import { type CurrentGeneration, openCurrentGeneration } from '../read-models/current-generation.ts';
import { START } from '../read-models/generations.ts';
import { createTarget, foldInto, type Target } from './fold.ts';
import { upTo } from './follow.ts';
import { readSkippedEvents } from './skipped-events.ts';

/** A document that differs from the log. `expected` is absent if it should not exist, `actual` if it is missing. */
type Difference = {
  readonly projection: string;
  readonly key: string;
  readonly expected?: Row;
  readonly actual?: Row;
};

const CHUNK = 500;
const MAX_DIFFERENCES = 10;
/** How long to wait for a first build that makes no progress. */
const PROGRESS_WITHIN_MS = 30_000;
const CHECK_EVERY_MS = 50;

/** A read model, and its replay in the scratch store. */
type Compared = Target & { readonly replayed: Documents<Row>; readonly live: Documents<Row> };

/**
 * Replays the log and compares every document with the live read models (docs/decisions/read-models.md). Safe beside a running
 * service: a document that changes meanwhile is compared at its new position. The replay uses a scratch file on this machine.
 * @param onProgress gets the number of events replayed and, once counted, of all events
 * @returns the position of the read models, what was compared, the first differences, and the read models left out: failing, unbuilt, or
 * missing in this release's version
 */
export async function verify(deps: {
  readonly events: EventStore;
  readonly documents: OperatedDocumentStore;
  readonly projections: readonly AnyProjection[];
  /** Opens a store of this machine in an empty folder, which is removed afterwards. */
  readonly openScratch: (folder: string) => Promise<OperatedDocumentStore>;
  readonly onProgress?: (progress: { readonly done: number; readonly total?: number }) => void;
}) {
  const { events, projections, openScratch, onProgress } = deps;
  const generations = await openCurrentGeneration(deps);
  await untilBuilt(generations);
  const { id, checkpoint = START, collections } = generations.live() ?? {};
  const folder = await mkdtemp(join(tmpdir(), 'venue-verify-'));
  const scratch = await openScratch(folder);

  async function openCompared(projection: AnyProjection): Promise<readonly Compared[]> {
    const { name } = projection;
    const live = collections?.get(name);
    if (live === undefined || checkpoint.failing.some((each) => each.name === name)) return [];
    const replayed: Documents<Row> = await scratch.open({ name, kind: 'readModel', indexes: [] });
    const target = createTarget(projection, replayed, await readSkippedEvents(events, projection));
    return [{ ...target, replayed, live }];
  }

  let position: Position = LOG_START;
  let replayed = 0;
  /** Replays the log up to and including `end`. */
  async function replay(targets: readonly Compared[], end: Position): Promise<void> {
    if (end <= position) return;
    for await (const chunk of inPages(upTo(events.readAll({ after: position }), end), CHUNK)) {
      await Promise.all(targets.map((target) => foldInto(target, chunk)));
      replayed += chunk.length;
      onProgress?.({ done: replayed, total: Math.max(checkpoint.events, replayed) });
    }
    position = end;
  }

  const differences: Difference[] = [];
  function judge({ projection }: Compared, key: string, expected: Row | undefined, actual: Row | undefined): void {
    if (differences.length >= MAX_DIFFERENCES || isDeepStrictEqual(expected, actual)) return;
    differences.push(defined({ projection: projection.name, key, expected, actual }));
  }

  /** Documents that were written after the replay. */
  const later: { readonly target: Compared; readonly actual: Projected<Row> }[] = [];
  /** Compares documents with the replay. */
  async function compare(target: Compared, keys: readonly string[]): Promise<void> {
    const [expected, actual] = await Promise.all([target.replayed.projected(keys), target.live.projected(keys)]);
    for (const key of keys) {
      const latest = actual.get(key);
      if (latest !== undefined && latest.position > checkpoint.position) later.push({ target, actual: latest });
      // One without a position was not written by a projection.
      else judge(target, key, expected.get(key)?.document, (latest ?? (await target.live.get(key)))?.document);
    }
  }

  async function refuseReplaced(cause?: unknown): Promise<void> {
    await generations.refresh();
    if (id !== undefined && !generations.has(id))
      throw new Error('The read models were rebuilt while they were verified. Verify them again.', { cause });
  }

  try {
    const targets = (await Promise.all(projections.map(openCompared))).flat();
    await replay(targets, checkpoint.position);
    let documents = 0;
    for (const target of targets) {
      for await (const keys of keysOf(target.replayed)) {
        documents += keys.length;
        await compare(target, keys);
      }
      for await (const keys of keysOf(target.live)) {
        const expected = await target.replayed.projected(keys);
        const strays = keys.filter((key) => expected.get(key)?.document === undefined);
        await compare(target, strays);
      }
    }
    // The replay advances from one to the next.
    later.sort((a, b) => (a.actual.position < b.actual.position ? -1 : 1));
    for (const { target, actual } of later) {
      await replay(targets, actual.position);
      const expected = (await target.replayed.projected([actual.key])).get(actual.key);
      judge(target, actual.key, expected?.document, actual.document);
    }
    await refuseReplaced();
    const isVerified = ({ name }: AnyProjection) => targets.some(({ projection }) => projection.name === name);
    const notVerified = projections.filter((each) => !isVerified(each)).map(({ name }) => name);
    return { position: checkpoint.position, events: replayed, documents, differences, notVerified };
  } catch (error) {
    // What is read may be removed at any moment.
    await refuseReplaced(error);
    throw error;
  } finally {
    await scratch.close();
    await rm(folder, { recursive: true });
  }
}

/** Waits for a first build while it makes progress, as after a restore. */
async function untilBuilt(generations: CurrentGeneration): Promise<void> {
  let done = -1;
  for (let deadline = 0; ; await delay(CHECK_EVERY_MS)) {
    await generations.refresh();
    const { checkpoint } = generations.building() ?? {};
    if (generations.live() !== undefined || checkpoint === undefined) return;
    if (checkpoint.events > done) deadline = performance.now() + PROGRESS_WITHIN_MS;
    done = checkpoint.events;
    if (performance.now() >= deadline) return;
  }
}

async function* keysOf(documents: Documents<Row>): AsyncGenerator<string[]> {
  for await (const page of inPages(documents.find(everyDocument()), CHUNK)) yield page.map(({ key }) => key);
}
