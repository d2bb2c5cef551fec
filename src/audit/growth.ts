import { type Checkpoint, openCheckpoint } from './checkpoint.ts';
import { isConsistent } from './merkle-tree.ts';
import { fromBase64, type Problem, type VerifierKey } from './signed-note.ts';

/** A proof that a log has only grown from one checkpoint to another, as JSON. */
export type Consistency = {
  /** The signed notes. */
  readonly from: string;
  readonly to: string;
  /** Base64 of the hashes. */
  readonly proof: readonly string[];
};

/** Whether two checkpoints are equal. */
export const isSame = (one: Checkpoint, other: Checkpoint): boolean =>
  one.size === other.size && one.root.equals(other.root);

/**
 * Checks that a log has grown to a checkpoint from a kept one.
 * @returns a problem unless it begins with a kept checkpoint, because the holder of the key can sign two logs
 */
export function grownFrom(
  checkpoints: readonly Checkpoint[],
  { from, to, proof }: Consistency,
  key: VerifierKey,
): Checkpoint | Problem {
  const [before, after] = [openCheckpoint(from, key), openCheckpoint(to, key)];
  if ('problem' in before) return { problem: `the checkpoint that it begins with ${before.problem}` };
  if ('problem' in after) return { problem: `the checkpoint that it ends with ${after.problem}` };
  if (!checkpoints.some((checkpoint) => isSame(checkpoint, before)))
    return { problem: 'it begins with a checkpoint that is none of those that were kept' };
  const hashes = proof.map(fromBase64).filter((hash) => hash !== undefined);
  const isShown = hashes.length === proof.length && isConsistent({ from: before, to: after, proof: hashes });
  return isShown ? after : { problem: 'it does not show that the log has only grown' };
}
