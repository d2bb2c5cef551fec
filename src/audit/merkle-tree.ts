import { createHash } from 'node:crypto';

/** A hash of the tree: the 32 bytes of a SHA-256. */
export type Hash = Buffer;

/** Bytes of a {@link Hash}. */
export const HASH_BYTES = 32;

/**
 * The hash of the complete subtree of 2^`level` leaves whose first leaf has the index `at * 2^level`. Only subtrees that lie within
 * the tree are asked for.
 */
export type ReadNode = (level: number, at: number) => Promise<Hash>;

/** The hash of a node with two children (RFC 6962, section 2.1). */
export const nodeHash = (left: Hash, right: Hash): Hash =>
  createHash('sha256').update(NODE).update(left).update(right).digest();

const NODE = Buffer.of(1);

/** The root of a tree without leaves. */
export const EMPTY_ROOT: Hash = createHash('sha256').digest();

/** The root of the tree of the first `size` leaves. */
export const rootHash = async (size: number, read: ReadNode): Promise<Hash> =>
  size === 0 ? EMPTY_ROOT : subtreeHash(0, size, read);

/**
 * The hashes that lead from a leaf to the root (RFC 6962, section 2.1.1).
 * @param index less than `size`
 */
export async function inclusionProof(index: number, size: number, read: ReadNode): Promise<Hash[]> {
  const proof: Hash[] = [];
  let [start, end] = [0, size];
  while (end - start > 1) {
    const middle = start + split(end - start);
    proof.push(index < middle ? await subtreeHash(middle, end, read) : await subtreeHash(start, middle, read));
    if (index < middle) end = middle;
    else start = middle;
  }
  return proof.reverse();
}

/**
 * A proof that a tree begins with a smaller one (RFC 6962, section 2.1.2).
 * @param from the size of the smaller one: 1 to `size`
 */
export async function consistencyProof(from: number, size: number, read: ReadNode): Promise<Hash[]> {
  const proof: Hash[] = [];
  let [start, end] = [0, size];
  while (from !== end) {
    const middle = start + split(end - start);
    proof.push(from <= middle ? await subtreeHash(middle, end, read) : await subtreeHash(start, middle, read));
    if (from <= middle) end = middle;
    else start = middle;
  }
  // The verifier has the root of the smaller tree, so it is left out if that tree is a complete subtree of the larger one.
  if (start > 0) proof.push(await subtreeHash(start, end, read));
  return proof.reverse();
}

/** Whether a leaf stands at an index of the tree with this root (RFC 9162, section 2.1.3.2). False for an invalid size, index or hash. */
export function isIncluded(claim: {
  readonly leaf: Hash;
  readonly index: number;
  readonly size: number;
  readonly root: Hash;
  readonly proof: readonly Hash[];
}): boolean {
  const { leaf, index, size, root, proof } = claim;
  if (![leaf, root, ...proof].every(isHash) || !isCount(index) || !isCount(size) || index >= size) return false;
  let [at, last, hash] = [index, size - 1, leaf];
  for (const beside of proof) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      hash = nodeHash(beside, hash);
      while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)];
    } else {
      hash = nodeHash(hash, beside);
    }
    [at, last] = [half(at), half(last)];
  }
  return last === 0 && hash.equals(root);
}

/**
 * Whether the larger tree begins with the smaller one (RFC 9162, section 2.1.4.2). Every tree begins with an empty one, and a tree of
 * the same size has to be the same. False for an invalid size or hash.
 */
export function isConsistent(claim: {
  readonly from: { readonly size: number; readonly root: Hash };
  readonly to: { readonly size: number; readonly root: Hash };
  readonly proof: readonly Hash[];
}): boolean {
  const { from, to, proof } = claim;
  if (![from.root, to.root, ...proof].every(isHash)) return false;
  if (!isCount(from.size) || !isCount(to.size) || from.size > to.size) return false;
  if (from.size === 0) return proof.length === 0 && from.root.equals(EMPTY_ROOT);
  if (from.size === to.size) return proof.length === 0 && from.root.equals(to.root);
  let [at, last] = [from.size - 1, to.size - 1];
  while (at % 2 === 1) [at, last] = [half(at), half(last)];
  // A smaller tree that is a complete subtree is not repeated in the proof.
  const [first, ...others] = at === 0 ? [from.root, ...proof] : proof;
  if (first === undefined) return false;
  let [smaller, larger] = [first, first];
  for (const beside of others) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      [smaller, larger] = [nodeHash(beside, smaller), nodeHash(beside, larger)];
      while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)];
    } else {
      larger = nodeHash(larger, beside);
    }
    [at, last] = [half(at), half(last)];
  }
  return last === 0 && smaller.equals(from.root) && larger.equals(to.root);
}

/** The hash of the leaves from `start` to before `end`, where `start` is a multiple of the power of two that covers them. */
async function subtreeHash(start: number, end: number, read: ReadNode): Promise<Hash> {
  const leaves = end - start;
  const level = Math.ceil(Math.log2(leaves));
  if (2 ** level === leaves) return read(level, start / leaves);
  const middle = start + split(leaves);
  return nodeHash(await subtreeHash(start, middle, read), await subtreeHash(middle, end, read));
}

/** The largest power of two that is less than `leaves`, which is at least 2. */
const split = (leaves: number): number => {
  let power = 1;
  while (power * 2 < leaves) power *= 2;
  return power;
};

const half = (count: number): number => Math.floor(count / 2);

const isCount = (count: number): boolean => Number.isSafeInteger(count) && count >= 0;

const isHash = (hash: Hash): boolean => Buffer.isBuffer(hash) && hash.length === HASH_BYTES;
