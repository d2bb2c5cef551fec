import { defined } from '../domain/defined.ts';
import { picked } from '../domain/picked.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { Hash } from './merkle-tree.ts';
import { leafHash, type PortableEvent } from './portable-event.ts';
import { continueTree, type ReadTile, TILE_WIDTH, type Tile } from './tree-tiles.ts';

/** A kept event: its hash, and the event itself if an earlier export has it. */
export type KeptLeaf = { readonly hash: Hash; readonly event?: PortableEvent };

/** The identity of an event. */
export type EventLabel = Pick<PortableEvent, 'id' | 'type' | 'stream' | 'revision'>;

/** A problem of a log. */
export type Finding =
  /** The log has fewer events than were sealed. */
  | { readonly found: 'cut'; readonly events: number; readonly sealed: number }
  /** One of the events from `from` to before `to`, counted from 0, differs from what was sealed. All before `from` are intact. */
  | { readonly found: 'changed'; readonly from: number; readonly to: number }
  /**
   * The first event that differs from the kept one. `kept` comes from an earlier export, `now` is the event in its place; absent if the
   * log ends before.
   */
  | { readonly found: 'event'; readonly index: number; readonly kept?: EventLabel; readonly now?: EventLabel }
  /** The event matches the checkpoints, but the store's tree does not. Proofs cannot be made from it. */
  | { readonly found: 'tree'; readonly level: number; readonly index: number };

export type LogCheck = Awaited<ReturnType<typeof checkLog>>;

/** Events per progress report. */
const PROGRESS_EVERY = 1_000;

/**
 * Recomputes the tree of a log from its events, and compares it with checkpoints, kept events and the stored tree.
 * @param deps.events all events in log order
 * @param deps.checkpoints checkpoints of this log, in any order
 * @param deps.leaves kept hashes of the events, each from the first event on
 * @param deps.tile the tiles in the store
 */
export async function checkLog(deps: {
  readonly events: AsyncIterable<PortableEvent>;
  readonly checkpoints: readonly Checkpoint[];
  readonly leaves?: readonly AsyncIterable<KeptLeaf>[];
  readonly tile?: { readonly size: number; readonly read: ReadTile };
  readonly onProgress?: (progress: { readonly done: number }) => void;
}) {
  const checkpoints = deps.checkpoints.toSorted((a, b) => a.size - b.size);
  const comparisons = (deps.leaves ?? []).map((leaves) => createComparison(leaves));
  const tree = await continueTree(0, async () => []);
  const tiles = createTileComparison(deps.tile);
  /** The number of checkpoints that the log matches, and the last of them. */
  let confirmed = 0;
  let confirmedUpTo = 0;
  let refuted: number | undefined;
  let next = 0;

  async function passCheckpoints(): Promise<void> {
    let root: Hash | undefined;
    for (let at = checkpoints[next]; at?.size === tree.size(); at = checkpoints[next]) {
      next += 1;
      root ??= await tree.root();
      if (at.root.equals(root)) {
        // A change alters every later root, unless the changed log was signed too.
        confirmed += 1;
        if (refuted === undefined) confirmedUpTo = at.size;
      } else refuted ??= at.size;
    }
  }

  await passCheckpoints();
  for await (const event of deps.events) {
    const hash = leafHash(event);
    for (const each of comparisons) await each.pass(tree.size(), hash, event);
    for (const tile of tree.add(hash)) await tiles.compare(tile);
    await passCheckpoints();
    if (tree.size() % PROGRESS_EVERY === 0) deps.onProgress?.({ done: tree.size() });
  }
  for (const tile of tree.unfinished()) await tiles.compare(tile);
  for (const each of comparisons) await each.end(tree.size());
  deps.onProgress?.({ done: tree.size() });
  const sealed = checkpoints.at(-1)?.size ?? 0;
  const findings: readonly Finding[] = [
    ...(refuted === undefined ? [] : [{ found: 'changed', from: confirmedUpTo, to: refuted } as const]),
    ...(sealed > tree.size() ? [{ found: 'cut', events: tree.size(), sealed } as const] : []),
    ...comparisons.flatMap((each) => each.finding() ?? []),
    ...(tiles.finding() ?? []),
  ];
  return { events: tree.size(), confirmed, confirmedUpTo, root: await tree.root(), findings };
}

/** Compares the events of a log with the kept ones, up to the first difference. */
function createComparison(leaves: AsyncIterable<KeptLeaf>) {
  const iterator = leaves[Symbol.asyncIterator]();
  let finding: Finding | undefined;
  let isOver = false;

  async function nextKept(): Promise<KeptLeaf | undefined> {
    if (isOver) return undefined;
    const { value, done } = await iterator.next();
    isOver = done === true;
    return isOver ? undefined : value;
  }
  async function differ(index: number, leaf: KeptLeaf, now?: PortableEvent): Promise<void> {
    finding = {
      found: 'event',
      index,
      ...defined({ kept: leaf.event && labelOf(leaf.event), now: now && labelOf(now) }),
    };
    isOver = true;
    await iterator.return?.();
  }

  return {
    finding: () => finding,
    async pass(index: number, hash: Hash, event: PortableEvent): Promise<void> {
      const leaf = await nextKept();
      if (leaf !== undefined && !leaf.hash.equals(hash)) await differ(index, leaf, event);
    },
    async end(index: number): Promise<void> {
      const leaf = await nextKept();
      if (leaf !== undefined) await differ(index, leaf);
    },
  };
}

const labelOf = (event: PortableEvent): EventLabel => picked(event, ['id', 'type', 'stream', 'revision']);

/** Compares the tree with the hashes that a store keeps of it. */
function createTileComparison(stored: { readonly size: number; readonly read: ReadTile } | undefined) {
  let finding: Finding | undefined;
  return {
    finding: () => (finding === undefined ? undefined : [finding]),
    async compare({ level, index, hashes }: Tile): Promise<void> {
      if (stored === undefined || finding !== undefined) return;
      // Unsealed events have no stored hashes.
      const wanted = Math.floor(stored.size / TILE_WIDTH ** level) - index * TILE_WIDTH;
      if (wanted <= 0) return;
      const ours = await stored.read(level, index);
      const at = hashes.slice(0, wanted).findIndex((hash, each) => ours[each]?.equals(hash) !== true);
      if (at !== -1) finding = { found: 'tree', level, index: index * TILE_WIDTH + at };
    },
  };
}
