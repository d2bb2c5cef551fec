import { HASH_BYTES, type Hash } from './merkle-tree.ts';
import { fromBase64, openNote, type Problem, type SignerKey, signNote, type VerifierKey } from './signed-note.ts';

/** The content of a checkpoint: the log, its number of events, and the root of their tree. */
export type Checkpoint = {
  /** Also the name of the key that signs it. */
  readonly origin: string;
  readonly size: number;
  readonly root: Hash;
};

/** The signed note of a checkpoint (https://c2sp.org/tlog-checkpoint). It holds no time, so that equal trees have equal texts. */
export const signCheckpoint = (size: number, root: Hash, key: SignerKey): string =>
  signNote(`${key.name}\n${size}\n${root.toString('base64')}\n`, key);

/** @returns a problem unless it is the checkpoint of the log that the key belongs to, signed with it */
export function openCheckpoint(note: string, key: VerifierKey): Checkpoint | Problem {
  const opened = openNote(note, key);
  if ('problem' in opened) {
    const origin = originOf(note);
    if (origin === undefined || origin === key.name) return opened;
    return { problem: `is of another log, ${origin}, and not of ${key.name}` };
  }
  const [origin, size = '', base64 = '', ...extension] = opened.text.slice(0, -1).split('\n');
  const root = fromBase64(base64);
  if (!SIZE.test(size) || !Number.isSafeInteger(Number(size)) || root?.length !== HASH_BYTES || extension.includes(''))
    return { problem: 'is not a checkpoint (https://c2sp.org/tlog-checkpoint)' };
  if (origin !== key.name) return { problem: `is of another log, ${origin}, and not of ${key.name}` };
  return { origin, size: Number(size), root };
}

/**
 * The checkpoint in a record of the store.
 * @returns a sentence without a full stop as the problem
 */
export function openSealed({ size, note }: { readonly size: number; readonly note: string }, key: VerifierKey) {
  const opened = openCheckpoint(note, key);
  if ('problem' in opened) return { problem: `The checkpoint of ${size} events ${opened.problem}` };
  return opened.size === size ? opened : { problem: `The checkpoint of ${size} events is one of ${opened.size}` };
}

/** The origin that a checkpoint claims, not verified. */
const originOf = (note: string): string | undefined => /^(\S+)\n(?:0|[1-9]\d*)\n\S{44}\n/.exec(note)?.[1];

const SIZE = /^(?:0|[1-9]\d*)$/;
