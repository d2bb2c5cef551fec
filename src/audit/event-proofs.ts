import type { EventStore, StoredEvent } from '../event-store/event-store.ts';
import { type Checkpoint, openCheckpoint, openSealed } from './checkpoint.ts';
import { inclusionProof, isIncluded } from './merkle-tree.ts';
import { NotAsSealed } from './not-as-sealed.ts';
import { canonicalForm, hashOfForm, portableEvent } from './portable-event.ts';
import { eventAt } from './seal-log.ts';
import type { SealRecord, SealRecords } from './seal-records.ts';
import { fromBase64, type Problem, type VerifierKey } from './signed-note.ts';
import { nodesOf, TILE_WIDTH } from './tree-tiles.ts';

/** Proofs that events are part of a log, for a verifier who has only the key of its checkpoints. JSON as it is printed. */
export type EventProofs = {
  /** The signed note. */
  readonly checkpoint: string;
  readonly events: readonly {
    /** Counted from 0. */
    readonly index: number;
    /** The canonical form of the event, of which the leaf is the hash. */
    readonly event: string;
    /** Base64 of the hashes from the leaf to the root. */
    readonly proof: readonly string[];
  }[];
};

type ProofDeps = {
  readonly events: Pick<EventStore, 'readAll' | 'readStream'>;
  readonly records: SealRecords;
  readonly key: VerifierKey;
};

/**
 * Proves that events are in the log, as of a checkpoint.
 * @param wanted events that the checkpoint seals
 * @throws if the stored tree does not lead from one of them to the checkpoint
 */
export async function proveEvents(
  deps: ProofDeps,
  head: SealRecord,
  wanted: readonly StoredEvent[],
): Promise<EventProofs> {
  const { records, key } = deps;
  const checkpoint = openSealed(head, key);
  if ('problem' in checkpoint) throw new NotAsSealed(checkpoint.problem);
  const read = nodesOf(records.tile);
  const proved: EventProofs['events'][number][] = [];
  for (const event of wanted) {
    const index = await indexOf(event, head, deps);
    const text = canonicalForm(portableEvent(event));
    const leaf = hashOfForm(text);
    const proof = index === undefined ? [] : await inclusionProof(index, head.size, read);
    if (index === undefined || !isIncluded({ ...checkpoint, leaf, index, proof }))
      throw new NotAsSealed(
        `Event ${event.id} does not match the checkpoint of ${head.size} events. Find out more with: venue verify --seals`,
      );
    proved.push({ index, event: text, proof: proof.map((hash) => hash.toString('base64')) });
  }
  return { checkpoint: head.note, events: proved };
}

/** How many of the events a checkpoint seals. */
export async function countSealed(
  { events }: Pick<ProofDeps, 'events'>,
  head: SealRecord | undefined,
  all: readonly StoredEvent[],
): Promise<number> {
  const last = head && (await eventAt(events, head.last));
  return last === undefined ? 0 : all.filter(({ position }) => position <= last.position).length;
}

/** The index of a sealed event. Searched by the first events of the tiles, because positions do not count events. */
async function indexOf(
  event: StoredEvent,
  head: SealRecord,
  { events, records }: ProofDeps,
): Promise<number | undefined> {
  let [low, high] = [0, Math.floor((head.size - 1) / TILE_WIDTH)];
  let first: StoredEvent | undefined;
  while (low <= high) {
    const middle = Math.floor((low + high) / 2);
    const name = await records.firstOf(middle);
    const candidate = name && (await eventAt(events, name));
    if (candidate === undefined) return undefined;
    if (candidate.position <= event.position) [first, low] = [candidate, middle + 1];
    else high = middle - 1;
  }
  if (first === undefined) return undefined;
  let index = high * TILE_WIDTH;
  if (first.position === event.position) return index;
  for await (const { position } of events.readAll({ after: first.position, limit: TILE_WIDTH })) {
    index += 1;
    if (position === event.position) return index;
  }
  return undefined;
}

/**
 * Checks proofs with nothing but the key.
 * @returns the problem, or the checkpoint that they lead to
 */
export function checkProofs(proofs: EventProofs, key: VerifierKey): Checkpoint | Problem {
  const checkpoint = openCheckpoint(proofs.checkpoint, key);
  if ('problem' in checkpoint) return { problem: `The checkpoint ${checkpoint.problem}` };
  if (proofs.events.length === 0) return { problem: 'There are no events in it' };
  for (const { index, event, proof } of proofs.events) {
    const hashes = proof.map(fromBase64).filter((hash) => hash !== undefined);
    const leaf = hashOfForm(event);
    // A text with half a surrogate pair has no UTF-8 form: another text would be hashed.
    if (
      !event.isWellFormed() ||
      hashes.length !== proof.length ||
      !isIncluded({ ...checkpoint, leaf, index, proof: hashes })
    )
      return { problem: `Event ${index} is not in the log that the checkpoint is of, or not like this` };
  }
  return checkpoint;
}
