import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EMPTY_ROOT, type Hash, rootHash } from '../../src/audit/merkle-tree.ts';
import { continueTree, MissingHashes, nodesOf, type ReadTile, type Tile } from '../../src/audit/tree-tiles.ts';
import vectors from './foreign/vectors.json' with { type: 'json' };
import { someHash } from './keys.ts';

/** Keeps tiles as a store does. */
function createKept() {
  const tiles = new Map<string, readonly Hash[]>();
  const read: ReadTile = async (level, index) => tiles.get(`${level}/${index}`) ?? [];
  return {
    tiles,
    read,
    keep(all: readonly Tile[]): void {
      for (const { level, index, hashes } of all) tiles.set(`${level}/${index}`, hashes);
    },
  };
}

const leaf = (at: number): Hash => someHash(`leaf ${at}`);
const rootOf = (kept: ReturnType<typeof createKept>, size: number): Promise<Hash> => rootHash(size, nodesOf(kept.read));

test('a tree that grows has the roots that Go computes', async () => {
  const tree = await continueTree(0, async () => []);
  expect(await tree.root()).toEqual(EMPTY_ROOT);
  for (const [at, hash] of vectors.hashes.entries()) {
    tree.add(Buffer.from(hash, 'base64'));
    expect(tree.size()).toBe(at + 1);
    expect((await tree.root()).toString('base64')).toBe(vectors.checkpoints[at]?.split('\n')[2]);
  }
});

test('a tree built in many steps equals one built at once, at every size', async () => {
  const whole = await continueTree(0, async () => []);
  const roots = [await whole.root()];
  const kept = createKept();
  for (let at = 0; at < 66_200; at += 1) {
    kept.keep(whole.add(leaf(at)));
    if (at < 700 || at > 65_390) roots[at + 1] = await whole.root();
  }
  kept.keep(whole.unfinished());
  expect([...kept.tiles.keys()].filter((key) => !key.startsWith('0/'))).toEqual(['1/0', '1/1', '2/0']);

  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat({ max: 200 }), { maxLength: 4 }),
      fc.constantFrom(0, 65_400),
      async (steps, from) => {
        let size = from;
        const store = createKept();
        store.keep([...kept.tiles].map(([key, hashes]) => tileOf(key, hashes)));
        for (const step of steps) {
          // What is kept may go further than the tree that is continued.
          const tree = await continueTree(size, store.read);
          if (roots[size] !== undefined) expect(await tree.root()).toEqual(roots[size]);
          for (; tree.size() < size + step; ) store.keep(tree.add(leaf(tree.size())));
          store.keep(tree.unfinished());
          size += step;
          if (roots[size] !== undefined) {
            expect(await tree.root(), `of ${size}`).toEqual(roots[size]);
            expect(await rootOf(store, size), `of ${size}`).toEqual(roots[size]);
          }
        }
      },
    ),
    { numRuns: 30 },
  );
});

const tileOf = (key: string, hashes: readonly Hash[]): Tile => {
  const [level, index] = key.split('/').map(Number);
  return { level: level ?? 0, index: index ?? 0, hashes };
};

test('missing hashes are an error, and no other hashes replace them', async () => {
  const kept = createKept();
  const tree = await continueTree(0, kept.read);
  for (let at = 0; at < 600; at += 1) kept.keep(tree.add(leaf(at)));
  kept.keep(tree.unfinished());
  const [last, top] = [kept.tiles.get('0/2') ?? [], kept.tiles.get('1/0') ?? []];
  for (const [key, hashes] of [
    ['0/2', last],
    ['1/0', top],
  ] as const) {
    for (const shorter of [hashes.slice(0, -1), []]) {
      kept.tiles.set(key, shorter);
      await expect(continueTree(600, kept.read)).rejects.toThrow(MissingHashes);
      await expect(rootOf(kept, 600)).rejects.toThrow(MissingHashes);
    }
    kept.tiles.set(key, hashes);
  }
  expect(await rootOf(kept, 600)).toEqual(await tree.root());
});
