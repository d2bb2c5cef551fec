import { type CheckpointFiles, type Fork, forkUnlessContinued } from '../audit/fork.ts';
import { indexAllMembers } from '../auth/account-members.ts';
import { skipIds } from '../commands/sequence.ts';
import { addAllMissingRecords } from '../credentials/records.ts';
import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import type { Actor } from '../domain/account.ts';
import { keysOf } from '../domain/keys-of.ts';
import { WEBHOOK_EVENTS } from '../domain/webhook.ts';
import { logEnd, type OperatedEventStore } from '../event-store/event-store.ts';
import { lowerMarks, replaceMarks } from '../outbox/marks.ts';
import { destroyForgottenKeys } from '../personal-data/forgotten.ts';
import type { Clock } from '../runtime/clock.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { adopt, readMemory } from '../store-identity/adopt.ts';
import { ensureLogId, readLogId } from '../store-identity/log-id.ts';
import { standstillProblem } from '../store-identity/standstill.ts';
import { cancelLost, type LostDelivery, lostDeliveries } from '../webhooks/inspect/lost-deliveries.ts';
import { UnusableCopy } from './unusable-copy.ts';

export type FinishDeps = {
  readonly events: OperatedEventStore;
  readonly documents: OperatedDocumentStore;
  readonly secretKey: SecretKey;
  readonly clock: Clock;
  /** How many ids of each kind to skip. */
  readonly skippedIds: number;
  /** The actor that restores the store. */
  readonly actor: Actor;
  /** Files of checkpoints kept outside of the store. */
  readonly checkpointFiles: CheckpointFiles;
};

/**
 * Completes a restored store: forks the log unless it continues its checkpoints, skips ids, destroys the keys of forgotten subjects, adds missing
 * records of credentials, makes the index of members, drops the read models, and records the current state of the log. Can be repeated.
 * @returns the fork, if the log has another origin now
 */
export async function finish(deps: FinishDeps): Promise<Fork | undefined> {
  const fork = await forkIfNeeded(deps);
  await join(deps);
  return fork;
}

const forkIfNeeded = async (deps: FinishDeps): Promise<Fork | undefined> =>
  forkUnlessContinued({ ...deps, logId: await ensureLogId(deps.events, deps.clock) });

async function join(deps: FinishDeps): Promise<void> {
  const { documents, skippedIds } = deps;
  await skipIds(deps, skippedIds);
  await destroyForgottenKeys(deps);
  await addAllMissingRecords(deps);
  await indexAllMembers(documents);
  for (const { name, kind } of await documents.collections()) if (kind === 'readModel') await documents.drop(name);
  await adopt(deps);
}

/**
 * Reconciles log and records that were restored with the engines' own tools. Either may be older than the other. Cancels pending
 * deliveries of lost events.
 * @returns deliveries whose events the log lacks, and the fork, if the log has another origin now
 */
export async function adoptStore(
  deps: FinishDeps & {
    /** The names of the parts of the store in messages. */
    readonly locations: { readonly log: string; readonly records: string };
  },
): Promise<{ readonly lost: LostDelivery[]; readonly fork: Fork | undefined }> {
  const { events, documents, locations } = deps;
  const memory = await readMemory(deps);
  const standstill = memory?.standstill;
  if (standstill !== undefined) throw new UnusableCopy(standstillProblem(standstill, locations));
  const areOfThisLog = memory !== undefined && memory.logId === (await readLogId(events));
  // Before any change, because it may refuse the named checkpoint.
  const fork = await forkIfNeeded(deps);
  const lost = await lostDeliveries(documents, deliverable(events));
  await cancelLost(deps, lost);
  if (areOfThisLog) await lowerMarks(documents, await logEnd(events));
  else await beginMarksAtEnd(deps);
  await join(deps);
  return { lost, fork };
}

const deliverable = (events: OperatedEventStore) => events.readAll({ types: keysOf(WEBHOOK_EVENTS) });

/** The marks of another log, or none, say nothing about this one. What happened in it before is not sent (docs/operations/backup.md). */
async function beginMarksAtEnd({ events, documents }: Pick<FinishDeps, 'events' | 'documents'>): Promise<void> {
  const end = await logEnd(events);
  await replaceMarks(documents, 'webhooks', Object.fromEntries(keysOf(WEBHOOK_EVENTS).map((kind) => [kind, end])));
  // The next start adds its kinds at the end of the log.
  await replaceMarks(documents, 'mail', {});
}
