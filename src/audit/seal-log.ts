import { setImmediate as nextTurn } from 'node:timers/promises';
import { defined } from '../domain/defined.ts';
import type { EventStore, Position, StoredEvent } from '../event-store/event-store.ts';
import { LOG_START } from '../event-store/event-store.ts';
import { type Checkpoint, openSealed, signCheckpoint } from './checkpoint.ts';
import { rootHash } from './merkle-tree.ts';
import { NotAsSealed } from './not-as-sealed.ts';
import { leafHash, portableEvent } from './portable-event.ts';
import type { EventName, SealRecord, SealRecords } from './seal-records.ts';
import type { SignerKey } from './signed-note.ts';
import { continueTree, type GrowingTree, MissingHashes, nodesOf, TILE_WIDTH, type Tile } from './tree-tiles.ts';

/** Tiles per write, which bounds memory on a long log. */
const TILES_PER_WRITE = 64;
/** Yields to other work of the thread, such as projections, after this many events: about 2 ms. */
const TURN = 64;
/** Events per progress report. */
const PROGRESS_EVERY = 1_000;
/** Maximum events between two checkpoints, so that sealing a long log can resume. More only to reach the checkpoint in `SEAL_FILE`. */
export const EVENTS_PER_CHECKPOINT = 100_000;

type SealDeps = {
  readonly events: Pick<EventStore, 'readAll' | 'readStream'>;
  readonly records: SealRecords;
  readonly key: SignerKey;
  /** The newest checkpoint in `SEAL_FILE`. Nothing is signed that contradicts it. */
  readonly newest?: Checkpoint;
  readonly onProgress?: (progress: { readonly done: number }) => void;
  /** Stops between two events, without a checkpoint. */
  readonly signal?: AbortSignal;
};

/** The log cannot be sealed, because it does not continue what was sealed before. */
class Unsealable extends NotAsSealed {
  constructor(problem: string, hint = 'Find out more with: venue verify --seals') {
    super(`${problem}. Nothing is sealed until that is explained. ${hint}`);
    this.name = 'Unsealable';
  }
}

/**
 * Seals the events that have been appended since the last checkpoint, at most {@link EVENTS_PER_CHECKPOINT} of them, by continuing the
 * stored tree (docs/decisions/seals.md). Several processes may do it at the same time: the log has one order, so they write the same.
 * @returns the checkpoint that was written; undefined if nothing has been appended
 * @throws {Unsealable} if the log or the stored tree contradicts the last checkpoint or `SEAL_FILE`
 */
export async function sealLog(deps: SealDeps): Promise<SealRecord | undefined> {
  const { events, records, key, newest, onProgress, signal } = deps;
  const head = await records.head();
  const tree = await treeAt(head, deps);
  const limit = Math.max(EVENTS_PER_CHECKPOINT, (newest?.size ?? 0) - tree.size());
  const after = head === undefined ? LOG_START : await positionOf(events, head.last);
  let last: EventName | undefined;
  /** The events of the first leaves of new tiles, by the index of the tile. */
  const firsts = new Map<number, EventName>();
  let full: Tile[] = [];
  const keep = async (tiles: readonly Tile[]) => {
    const firstOf = ({ level, index }: Tile) => (level === 0 ? firsts.get(index) : undefined);
    await records.keep(tiles.map((tile) => ({ ...tile, ...defined({ first: firstOf(tile) }) })));
  };

  for await (const event of events.readAll({ after, limit })) {
    signal?.throwIfAborted();
    last = { stream: event.stream, revision: event.revision, eventId: event.id };
    if (tree.size() % TILE_WIDTH === 0) firsts.set(tree.size() / TILE_WIDTH, last);
    for (const tile of tree.add(leafHash(portableEvent(event)))) full.push(tile);
    if (tree.size() % PROGRESS_EVERY === 0) onProgress?.({ done: tree.size() });
    if (tree.size() % TURN === 0) await nextTurn();
    if (full.length < TILES_PER_WRITE) continue;
    await keep(full);
    full = [];
  }
  const size = tree.size();
  if (last !== undefined) {
    onProgress?.({ done: size });
    await keep([...full, ...tree.unfinished()]);
  }
  if (newest !== undefined) await checkContinues(newest, size, records);
  if (last === undefined) return undefined;
  const sealed: SealRecord = { size, note: signCheckpoint(size, await tree.root(), key), last };
  // Another process may have written it first. It wrote the same.
  await records.add(sealed);
  return sealed;
}

/** @throws {Unsealable} unless the log, which has `size` events by now, begins with the checkpoint in `SEAL_FILE` */
async function checkContinues(newest: Checkpoint, size: number, records: SealRecords): Promise<void> {
  if (newest.size <= size && (await rootHash(newest.size, nodesOf(records.tile))).equals(newest.root)) return;
  throw new Unsealable(
    `SEAL_FILE holds a checkpoint of ${newest.size} events that this log does not begin with`,
    'Find out more with: venue verify --against FILE. If the store is a restored copy, give it another origin with: venue restore --adopt',
  );
}

/** The tree as it was sealed last. */
async function treeAt(head: SealRecord | undefined, { records, key }: SealDeps): Promise<GrowingTree> {
  if (head === undefined) return continueTree(0, records.tile);
  const checkpoint = openSealed(head, key);
  if ('problem' in checkpoint) throw new Unsealable(checkpoint.problem);
  try {
    const tree = await continueTree(head.size, records.tile);
    if ((await tree.root()).equals(checkpoint.root)) return tree;
  } catch (error) {
    if (!(error instanceof MissingHashes)) throw error;
    throw new Unsealable(error.message);
  }
  throw new Unsealable(`The stored tree differs from the checkpoint of ${head.size} events`);
}

/** @throws {Unsealable} if the log does not hold the event where it was */
async function positionOf(events: SealDeps['events'], { stream, revision, eventId }: EventName): Promise<Position> {
  const event = await eventAt(events, { stream, revision });
  if (event?.id === eventId) return event.position;
  throw new Unsealable(`The log does not hold event ${eventId}, revision ${revision} of ${stream}, which was sealed`);
}

/** The event at a revision of a stream. */
export async function eventAt(
  events: Pick<EventStore, 'readStream'>,
  { stream, revision }: Pick<EventName, 'stream' | 'revision'>,
): Promise<StoredEvent | undefined> {
  for await (const event of events.readStream(stream, { from: revision, limit: 1 })) return event;
  return undefined;
}
