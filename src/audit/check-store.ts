import type { DocumentStore } from '../document-store/document-store.ts';
import { maxOf } from '../domain/extremes.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { checkLog, type KeptLeaf } from './check-log.ts';
import { type Checkpoint, openSealed } from './checkpoint.ts';
import type { Consistency } from './growth.ts';
import { consistencyProof, isConsistent } from './merkle-tree.ts';
import { portableEvents } from './portable-event.ts';
import { publishedKey } from './seal-key.ts';
import { openSealRecords, type SealRecords } from './seal-records.ts';
import { nodesOf } from './tree-tiles.ts';

type Signed = Checkpoint & { readonly note: string };

/**
 * Recomputes the tree of a store's log, and compares it with kept checkpoints and exports. Needs no secret, changes nothing, and may run
 * while the service runs.
 * @param deps.seals whether to compare it with the store's own checkpoints and hashes too
 * @param deps.checkpoints checkpoints that were kept elsewhere
 * @returns also the size of the newest checkpoint of the store, 0 if there is none, and the problems of its own seals
 */
export async function checkStore(deps: {
  readonly events: Pick<EventStore, 'readAll'>;
  readonly documents: Pick<DocumentStore, 'open'>;
  readonly seals: boolean;
  readonly checkpoints: readonly Signed[];
  readonly leaves: readonly AsyncIterable<KeptLeaf>[];
  readonly onProgress?: (progress: { readonly done: number; readonly total?: number }) => void;
}) {
  const records = await openSealRecords(deps.documents);
  // Read the log after the checkpoints, so that it has all events that they seal.
  const own = await checkpointsOf(records);
  const sealed = own.checkpoints.at(-1)?.size ?? 0;
  const total = maxOf(
    deps.checkpoints.map(({ size }) => size),
    sealed,
  );
  const checked = await checkLog({
    events: portableEvents(deps.events),
    checkpoints: [...deps.checkpoints, ...(deps.seals ? own.checkpoints : [])],
    leaves: deps.leaves,
    ...(deps.seals && { tile: { size: sealed, read: records.tile } }),
    onProgress: ({ done }) => deps.onProgress?.({ done, total }),
  });
  const problems = deps.seals ? own.problems : [];
  const consistency = await consistencyOf(deps.checkpoints, own.checkpoints.at(-1), records);
  const isSound = problems.length === 0 && checked.findings.length === 0;
  return { ...checked, sealed, problems, ...(isSound && consistency !== undefined && { consistency }) };
}

/** The checkpoints of a store, smallest first. */
async function checkpointsOf(
  records: SealRecords,
): Promise<{ readonly checkpoints: readonly Signed[]; readonly problems: readonly string[] }> {
  const key = await publishedKey(records);
  const checkpoints: Signed[] = [];
  const problems: string[] = [];
  for await (const sealed of records.after(0)) {
    const opened =
      key === undefined ? { problem: `The checkpoint of ${sealed.size} events has no key` } : openSealed(sealed, key);
    if ('problem' in opened) problems.push(opened.problem);
    else checkpoints.push({ ...opened, note: sealed.note });
  }
  return { checkpoints, problems };
}

/** Growth proof from the largest kept checkpoint that is not larger than the store's newest one. */
async function consistencyOf(
  checkpoints: readonly Signed[],
  head: Signed | undefined,
  records: SealRecords,
): Promise<Consistency | undefined> {
  const from = checkpoints
    .toSorted((a, b) => b.size - a.size)
    .find(({ size }) => head !== undefined && size <= head.size);
  if (from === undefined || head === undefined || from.origin !== head.origin) return undefined;
  const proof = from.size === 0 ? [] : await consistencyProof(from.size, head.size, nodesOf(records.tile));
  if (!isConsistent({ from, to: head, proof })) return undefined;
  return { from: from.note, to: head.note, proof: proof.map((hash) => hash.toString('base64')) };
}
