import { type Hash, nodeHash, type ReadNode, rootHash } from './merkle-tree.ts';
import { NotAsSealed } from './not-as-sealed.ts';

/** How many levels of the tree a tile spans. */
const TILE_HEIGHT = 8;
/** How many hashes a full tile has. */
export const TILE_WIDTH = 2 ** TILE_HEIGHT;

/**
 * A run of neighbouring hashes of the tree: leaves at level 0, subtrees of 256 leaves at level 1, and so on. The hashes between are
 * computed from them. A full tile never changes.
 */
export type Tile = { readonly level: number; readonly index: number; readonly hashes: readonly Hash[] };

export type ReadTile = (level: number, index: number) => Promise<readonly Hash[]>;

export type GrowingTree = Awaited<ReturnType<typeof continueTree>>;

/**
 * Continues a tree of `size` leaves from its unfinished tiles, which may hold more than belongs to that size. It holds only the unfinished
 * tiles, one per level.
 * @throws if one of them holds less
 */
export async function continueTree(size: number, read: ReadTile) {
  /** The hashes of the unfinished tile of each level. */
  const levels: Hash[][] = [];
  for (let [level, count] = [0, size]; count > 0; level += 1, count = Math.floor(count / TILE_WIDTH)) {
    const width = count % TILE_WIDTH;
    const stored = width === 0 ? [] : await read(level, Math.floor(count / TILE_WIDTH));
    if (stored.length < width) throw new MissingHashes(level, Math.floor(count / TILE_WIDTH));
    levels.push(stored.slice(0, width));
  }
  let leaves = size;

  const indexOf = (level: number): number => Math.floor(leaves / TILE_WIDTH ** (level + 1));
  /** These tiles are enough to compute the root. */
  const unfinishedTile: ReadTile = async (level) => levels[level] ?? [];
  return {
    /** How many leaves it has. */
    size: (): number => leaves,
    /** @returns the tiles that are full now */
    add(leaf: Hash): readonly Tile[] {
      const full: Tile[] = [];
      let hash = leaf;
      leaves += 1;
      for (let level = 0; ; level += 1) {
        levels[level] ??= [];
        const hashes = levels[level] ?? [];
        hashes.push(hash);
        if (hashes.length < TILE_WIDTH) return full;
        full.push({ level, index: indexOf(level) - 1, hashes });
        hash = subtree(hashes);
        levels[level] = [];
      }
    },
    /** The tiles that are not full, without the empty ones. */
    unfinished: (): readonly Tile[] =>
      levels.flatMap((hashes, level) =>
        hashes.length === 0 ? [] : [{ level, index: indexOf(level), hashes: [...hashes] }],
      ),
    root: (): Promise<Hash> => rootHash(leaves, nodesOf(unfinishedTile)),
  };
}

/** Reads any node from tiles, each of which is read once. */
export function nodesOf(readTile: ReadTile): ReadNode {
  const tiles = new Map<string, Promise<readonly Hash[]>>();
  return async (level, at) => {
    const tile = Math.floor(level / TILE_HEIGHT);
    const index = Math.floor((at * 2 ** (level % TILE_HEIGHT)) / TILE_WIDTH);
    const key = `${tile}/${index}`;
    const hashes = await tiles.getOrInsertComputed(key, () => readTile(tile, index));
    const hash = subtreeIn(hashes, level % TILE_HEIGHT, at, index);
    if (hash === undefined) throw new MissingHashes(tile, index);
    return hash;
  };
}

/** Stored hashes of the tree are missing. */
export class MissingHashes extends NotAsSealed {
  constructor(level: number, index: number) {
    super(`Hashes are missing from what is kept of the tree, in tile ${level}/${index}`);
    this.name = 'MissingHashes';
  }
}

/** The subtree of 2^`height` hashes of a tile, the one with the number `at` in the whole tree. */
function subtreeIn(hashes: readonly Hash[], height: number, at: number, index: number): Hash | undefined {
  const start = at * 2 ** height - index * TILE_WIDTH;
  const within = start < 0 ? [] : hashes.slice(start, start + 2 ** height);
  return within.length === 2 ** height ? subtree(within) : undefined;
}

/** The root of a complete subtree. */
function subtree(hashes: readonly Hash[]): Hash {
  let row = hashes;
  while (row.length > 1) row = pairs(row).map(([left, right]) => nodeHash(left, right));
  const [root] = row;
  if (root === undefined) throw new TypeError('A subtree has at least one leaf');
  return root;
}

const pairs = (row: readonly Hash[]): [Hash, Hash][] =>
  row.flatMap((left, at): [Hash, Hash][] => {
    const right = at % 2 === 0 ? row[at + 1] : undefined;
    return right === undefined ? [] : [[left, right]];
  });
