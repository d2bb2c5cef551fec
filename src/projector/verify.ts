import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { DocumentStore, Documents } from '../document-store/document-store.ts';
import { openSqliteDocumentStore } from '../document-store/sqlite-document-store.ts';
import type { Recorded } from '../domain/events.ts';
import { upcast } from '../domain/upcast.ts';
import { type EventStore, LOG_START, type Position } from '../event-store/event-store.ts';
import { createTarget, fold, type Target } from './fold.ts';
import { collectionOf, openProjectorState, THE_ONE } from './projector-state.ts';

/** A document that is not what the log says. `expected` is absent for one too many, `actual` for one that is missing. */
export type Difference = {
  readonly projection: string;
  readonly key: string;
  readonly expected?: Row;
  readonly actual?: Row;
};

export type Verification = {
  /** Where the read models stood. */
  readonly position: Position;
  readonly events: number;
  readonly documents: number;
  /** The first ones found, up to the limit asked for. */
  readonly differences: readonly Difference[];
  /** Read models that are being built for the first time, or by another version of the service: not looked at. */
  readonly notVerified: readonly string[];
};

const CHUNK = 500;
/** Looks at a document that moves on while it is compared. */
const LOOKS = 20;

/**
 * Replays the log beside the live read models and compares every document. Safe beside a running service: a document that
 * moves on meanwhile is compared where it stands then. The replay is kept in a scratch file of this machine.
 * @param onProgress is told the events replayed and those there are, as far as they have been counted
 * @param limit differences reported, default 10
 */
export async function verify(options: {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly projections: readonly AnyProjection[];
  readonly onProgress?: (progress: { readonly done: number; readonly total?: number }) => void;
  readonly limit?: number;
}): Promise<Verification> {
  const folder = await mkdtemp(join(tmpdir(), 'venue-verify-'));
  const scratch = await openSqliteDocumentStore({ folder });
  try {
    return await verifyWith(scratch, options);
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

  let position: Position = LOG_START;
  let replayed = 0;
  /** Replays up to where the read models stand now. */
  async function replay(): Promise<void> {
    const checkpoint = await checkpoints.get(THE_ONE);
    if (checkpoint === undefined) return;
    const { position: end, events: total } = checkpoint.document;
    let chunk: Recorded[] = [];
    const flush = async () => {
      await fold(targets, chunk);
      replayed += chunk.length;
      position = chunk.at(-1)?.position ?? position;
      chunk = [];
      onProgress?.({ done: replayed, total });
    };
    for await (const event of events.readAll({ after: position })) {
      if (event.position > end) break;
      if (chunk.push(upcast(event)) === CHUNK) await flush();
    }
    await flush();
    position = end;
  }
  await replay();

  const differences: Difference[] = [];
  let compared = 0;
  async function compare({ projection, documents: expected, live }: Compared, keys: readonly string[]): Promise<void> {
    let open = keys;
    for (let look = 0; open.length > 0; look++) {
      if (look > 0) await replay();
      const [wanted, found] = [await expected.projected(open), await live.projected(open)];
      const stillOpen: string[] = [];
      for (const key of open) {
        const expectation = wanted.get(key)?.document;
        // A document that no projection wrote has no position.
        const actual = found.get(key) ?? (await live.get(key));
        if (isDeepStrictEqual(expectation, actual?.document)) continue;
        // It is ahead of the replay, or (read just before its checkpoint was written) may be: look again further on.
        if (look === 0 || (actual !== undefined && 'position' in actual && actual.position > position && look < LOOKS))
          stillOpen.push(key);
        else if (differences.length < limit) {
          differences.push({
            projection: projection.name,
            key,
            ...(expectation && { expected: expectation }),
            ...(actual?.document && { actual: actual.document }),
          });
        }
      }
      open = stillOpen;
    }
    compared += keys.length;
  }

  for (const target of targets) {
    for await (const keys of chunksOf(target.documents)) await compare(target, keys);
    for await (const keys of chunksOf(target.live)) {
      const replayedKeys = await target.documents.projected(keys);
      const surplus = keys.filter((key) => replayedKeys.get(key)?.document === undefined);
      if (surplus.length > 0) await compare(target, surplus);
    }
  }
  return { position, events: replayed, documents: compared, differences, notVerified };
}

async function* chunksOf(documents: Documents<Row>): AsyncGenerator<string[]> {
  let keys: string[] = [];
  for await (const { key } of documents.find({})) {
    if (keys.push(key) < CHUNK) continue;
    yield keys;
    keys = [];
  }
  if (keys.length > 0) yield keys;
}
