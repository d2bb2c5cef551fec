import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  consistencyProof,
  EMPTY_ROOT,
  type Hash,
  inclusionProof,
  isConsistent,
  isIncluded,
  nodeHash,
  rootHash,
} from '../../src/audit/merkle-tree.ts';
import { alteredHashes } from './altered.ts';
import vectors from './foreign/vectors.json' with { type: 'json' };

const leaves = vectors.hashes.map((text) => Buffer.from(text, 'base64'));
const texts = (hashes: readonly Hash[]): string[] => hashes.map((hash) => hash.toString('base64'));

/** The hash of a complete subtree, by the definition. */
const read = async (level: number, at: number): Promise<Hash> => {
  const leaf = leaves[at];
  if (level === 0 && leaf !== undefined) return leaf;
  if (level === 0) throw new Error(`There is no leaf ${at}`);
  return nodeHash(await read(level - 1, at * 2), await read(level - 1, at * 2 + 1));
};

const sizes = leaves.map((_, at) => at + 1);

describe('the tree is that of the package tlog of Go', () => {
  test('roots', async () => {
    expect(await rootHash(0, read)).toEqual(EMPTY_ROOT);
    for (const size of sizes) {
      const [, , root] = vectors.checkpoints[size - 1]?.split('\n') ?? [];
      expect((await rootHash(size, read)).toString('base64'), `of ${size}`).toBe(root);
    }
  });

  test('inclusion proofs', async () => {
    const made: Record<string, readonly string[]> = {};
    for (const size of sizes)
      for (let index = 0; index < size; index += 1)
        made[`${index} of ${size}`] = texts(await inclusionProof(index, size, read));
    expect(made).toEqual(vectors.inclusion);
  });

  test('consistency proofs', async () => {
    const made: Record<string, readonly string[]> = {};
    for (const to of sizes)
      for (let from = 1; from <= to; from += 1)
        made[`${from} to ${to}`] = texts(await consistencyProof(from, to, read));
    expect(made).toEqual(vectors.consistency);
  });
});

/** A tree of any size whose leaves are their numbers. */
const numbered = async (level: number, at: number): Promise<Hash> => {
  if (level > 0) return nodeHash(await numbered(level - 1, at * 2), await numbered(level - 1, at * 2 + 1));
  const leaf = Buffer.alloc(32, 7);
  leaf.writeUInt32BE(at);
  return leaf;
};
const twoSizes = fc
  .tuple(fc.integer({ min: 1, max: 130 }), fc.integer({ min: 1, max: 130 }))
  .map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) }));

describe('inclusion', async () => {
  const claims = twoSizes.map(async ({ from, to: size }) => ({
    leaf: await numbered(0, from - 1),
    index: from - 1,
    size,
    root: await rootHash(size, numbered),
    proof: await inclusionProof(from - 1, size, numbered),
  }));

  test('is proved for every leaf', async () => {
    await fc.assert(
      fc.asyncProperty(claims, async (claim) => {
        expect(isIncluded(await claim)).toBe(true);
      }),
    );
  });

  // The size alone is no part of what a proof of inclusion shows: it is signed together with the root (checkpoint.test.ts).
  test('is refused whichever hash or index is altered', async () => {
    await fc.assert(
      fc.asyncProperty(claims, fc.gen(), async (made, gen) => {
        const claim = await made;
        for (const { what, value } of alteredHashes(claim, ['leaf', 'root'], gen))
          expect(isIncluded(value), what).toBe(false);
        for (const index of [-1, claim.index - 1, claim.index + 1, claim.index + 0.5, claim.size, Number.NaN, 2 ** 53])
          expect(isIncluded({ ...claim, index }), `index ${index}`).toBe(false);
        for (const size of [-1, 0, claim.index, Number.NaN, 2 ** 53, claim.size + 0.5])
          expect(isIncluded({ ...claim, size }), `size ${size}`).toBe(false);
        expect(isIncluded({ ...claim, size: claim.size * 4 }), 'a path that is too short').toBe(false);
      }),
    );
  });

  const [a, b, c] = [await numbered(0, 1), await numbered(0, 2), await numbered(0, 3)];

  test('is refused for a path that is longer than the tree is high, even if it hashes to the root', () => {
    expect(isIncluded({ leaf: a, index: 0, size: 1, root: nodeHash(b, a), proof: [b] })).toBe(false);
    const root = nodeHash(c, nodeHash(a, b));
    expect(isIncluded({ leaf: a, index: 0, size: 2, root, proof: [b, c] })).toBe(false);
  });

  test('is refused for hashes of other lengths, even if the bytes of both together are right', () => {
    const [shorter, longer] = [a.subarray(0, 31), Buffer.concat([a.subarray(31), b])];
    const claim = { leaf: a, index: 0, size: 2, root: nodeHash(a, b), proof: [b] };
    expect(isIncluded(claim)).toBe(true);
    expect(isIncluded({ ...claim, leaf: shorter, proof: [longer] })).toBe(false);
  });
});

describe('consistency', () => {
  const claims = twoSizes.map(async ({ from, to }) => ({
    from,
    fromRoot: await rootHash(from, numbered),
    to,
    toRoot: await rootHash(to, numbered),
    proof: await consistencyProof(from, to, numbered),
  }));
  type Claim = Awaited<typeof claims extends fc.Arbitrary<infer C> ? C : never>;
  const holds = ({ from, fromRoot, to, toRoot, proof }: Claim): boolean =>
    isConsistent({ from: { size: from, root: fromRoot }, to: { size: to, root: toRoot }, proof });

  test('is proved for every two sizes', async () => {
    await fc.assert(
      fc.asyncProperty(claims, async (claim) => {
        expect(holds(await claim)).toBe(true);
      }),
    );
  });

  test('is refused with any altered hash, and for an invalid size', async () => {
    await fc.assert(
      fc.asyncProperty(claims, fc.gen(), async (made, gen) => {
        const claim = await made;
        for (const { what, value } of alteredHashes(claim, ['fromRoot', 'toRoot'], gen))
          expect(holds(value), what).toBe(false);
        for (const from of [-1, 0, claim.to + 1, Number.NaN, claim.from + 0.5])
          expect(holds({ ...claim, from }), `from ${from}`).toBe(false);
        for (const to of [-1, 0, claim.from - 1, Number.NaN, 2 ** 53, claim.to + 0.5])
          expect(holds({ ...claim, to }), `to ${to}`).toBe(false);
        expect(holds({ ...claim, to: claim.to * 4 }), 'a proof that is too short').toBe(false);
      }),
    );
  });

  test('is refused for a proof that is longer than the tree is high, even if it hashes to the roots', async () => {
    const [fromRoot, toRoot] = [await rootHash(3, numbered), await rootHash(4, numbered)];
    const claim = { from: 3, fromRoot, to: 4, toRoot, proof: await consistencyProof(3, 4, numbered) };
    expect(holds(claim)).toBe(true);
    const more = await numbered(0, 9);
    const above = (root: Hash): Hash => nodeHash(more, root);
    const longer = { ...claim, fromRoot: above(fromRoot), toRoot: above(toRoot), proof: [...claim.proof, more] };
    expect(holds(longer)).toBe(false);
  });

  test('every tree begins with the empty one, which has one root and needs no proof', async () => {
    const to = { size: 3, root: await rootHash(3, numbered) };
    expect(isConsistent({ from: { size: 0, root: EMPTY_ROOT }, to, proof: [] })).toBe(true);
    expect(isConsistent({ from: { size: 0, root: to.root }, to, proof: [] })).toBe(false);
    expect(isConsistent({ from: { size: 0, root: EMPTY_ROOT }, to, proof: [to.root] })).toBe(false);
  });
});
