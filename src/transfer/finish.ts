import { type CheckpointFiles, type Fork, forkUnlessContinued } from '../audit/fork.ts';
import { skipIds } from '../commands/sequence.ts';
import { addMissingRecords } from '../credentials/records.ts';
import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import type { Actor } from '../domain/account.ts';
import { keysOf } from '../domain/keys-of.ts';
import { WEBHOOK_EVENTS } from '../domain/webhook.ts';
import { LOG_START, logEnd, type OperatedEventStore, type Position } from '../event-store/event-store.ts';
import { destroyForgottenKeys } from '../personal-data/forgotten.ts';
import type { Clock } from '../runtime/clock.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { adopt, readMemory } from '../store-identity/adopt.ts';
import { ensureLogId, readLogId } from '../store-identity/log-id.ts';
import { CREDENTIALS, forgetProgress } from '../store-identity/log-progress.ts';
import { standstillProblem } from '../store-identity/standstill.ts';
import { type FanOutPositions, fanOutPositions, setFanOutPositions } from '../webhooks/fan-out/positions.ts';
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
 * Completes a restored store: forks the log unless it continues its checkpoints, sets the consumer groups, skips ids, destroys the keys of
 * forgotten subjects, drops the read models, and records the current state of the log. Can be repeated.
 * @returns the fork, if the log has another origin now
 */
export async function finish(deps: FinishDeps, groups: FanOutPositions): Promise<Fork | undefined> {
  const fork = await forkIfNeeded(deps);
  await join(deps, groups);
  return fork;
}

const forkIfNeeded = async (deps: FinishDeps): Promise<Fork | undefined> =>
  forkUnlessContinued({ ...deps, logId: await ensureLogId(deps.events, deps.clock) });

async function join(deps: FinishDeps, groups: FanOutPositions): Promise<void> {
  const { documents, skippedIds } = deps;
  await setFanOutPositions(deps.events, groups);
  await skipIds(deps, skippedIds);
  await destroyForgottenKeys(deps);
  // The records may lack keys and revocations that are in the log.
  await forgetProgress(documents, CREDENTIALS);
  await addMissingRecords(deps);
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
  // The records' notes about another log do not apply to this one.
  const noted = memory !== undefined && memory.logId === (await readLogId(events)) ? memory.groups : undefined;
  // Before any change, because it may refuse the named checkpoint.
  const fork = await forkIfNeeded(deps);
  const lost = await lostDeliveries(documents, deliverable(events));
  await cancelLost(deps, lost);
  await join(deps, lowest(await fanOutPositions(events), noted, await logEnd(events)));
  return { lost, fork };
}

const deliverable = (events: OperatedEventStore) => events.readAll({ types: keysOf(WEBHOOK_EVENTS) });

/**
 * The lower position of every group: both log and records include everything before it. A group that the notes lack counts from the lowest
 * noted position.
 */
function lowest(ofLog: FanOutPositions, noted: FanOutPositions | undefined, end: Position): FanOutPositions {
  if (noted === undefined) return ofLog;
  const beginning = Object.values(noted).toSorted()[0] ?? LOG_START;
  const names = [...Object.keys(ofLog), ...Object.keys(noted)];
  const least = (name: string): Position =>
    [ofLog[name] ?? end, noted[name] ?? beginning, end].toSorted()[0] ?? LOG_START;
  return Object.fromEntries(names.map((name) => [name, least(name)]));
}
