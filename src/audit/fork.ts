import { randomUUID } from 'node:crypto';
import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { checkLog } from './check-log.ts';
import type { Checkpoint } from './checkpoint.ts';
import { portableEvents } from './portable-event.ts';
import { readRetainedCheckpoints, UnusableCheckpoints } from './retained-checkpoints.ts';
import { originOf, replaceSealKey, storedSealKey } from './seal-key.ts';
import { openSealRecords, SEALS_OF_AN_ORIGIN } from './seal-records.ts';
import { signNote, type VerifierKey, verifierKeyText } from './signed-note.ts';

/** Files outside of a store that hold its checkpoints. */
export type CheckpointFiles = {
  /** `SEAL_FILE`, which may be missing or unusable. */
  readonly sealFile?: string | undefined;
  /** A file that the operator named. */
  readonly checkpointFile?: string | undefined;
};

/** The log of a restored store now has another origin. */
export type Fork = {
  readonly origin: string;
  /** A clause, without a full stop. */
  readonly reason: string;
  /** Signed with the former key, if there is one, and with the new one. */
  readonly note: string;
};

/**
 * Gives the log of a restored store a new origin and key, unless checkpoints are known outside of the store and the log begins with each
 * of them: one key must not sign two histories (docs/decisions/seals.md). Can be repeated.
 * @returns undefined if the log keeps its origin
 * @throws {UnusableCheckpoints} if the file that the operator named cannot be used
 */
export async function forkUnlessContinued(deps: {
  readonly events: Pick<EventStore, 'readAll'>;
  readonly documents: Pick<OperatedDocumentStore, 'open' | 'drop'>;
  readonly secretKey: SecretKey;
  readonly logId: string;
  readonly checkpointFiles: CheckpointFiles;
}): Promise<Fork | undefined> {
  const { events, documents, secretKey, logId, checkpointFiles } = deps;
  const former = await storedSealKey(await openSealRecords(documents), secretKey);
  const checkpoints = former === undefined ? [] : await checkpointsOf(checkpointFiles, former);
  const log = await checkLog({ events: portableEvents(events), checkpoints });
  if (checkpoints.length > 0 && log.findings.length === 0) return undefined;

  // These belong to the former origin. The next seal starts a new tree.
  for (const name of SEALS_OF_AN_ORIGIN) await documents.drop(name);
  const origin = `${originOf(logId)}/${randomUUID()}`;
  const note = await replaceSealKey(await openSealRecords(documents), { origin, secretKey }, (key) => {
    // The second line distinguishes it from a checkpoint, which has a number there.
    const lines = [
      former?.name ?? originOf(logId),
      'fork',
      verifierKeyText(key),
      log.events,
      log.root.toString('base64'),
    ];
    return signNote(`${lines.join('\n')}\n`, ...(former === undefined ? [key] : [former, key]));
  });
  const reason =
    checkpoints.length === 0
      ? 'no checkpoint of it was found in SEAL_FILE or --checkpoint'
      : `SEAL_FILE or --checkpoint has a checkpoint that the ${log.events.toLocaleString('en')} restored events do not confirm`;
  return { origin, reason, note };
}

async function checkpointsOf({ sealFile, checkpointFile }: CheckpointFiles, key: VerifierKey): Promise<Checkpoint[]> {
  const checkpoints: Checkpoint[] = [];
  for (const file of [checkpointFile, sealFile]) {
    if (file === undefined) continue;
    try {
      for (const checkpoint of (await readRetainedCheckpoints(file, key)).checkpoints) checkpoints.push(checkpoint);
    } catch (error) {
      if (file === checkpointFile || !(error instanceof UnusableCheckpoints)) throw error;
    }
  }
  return checkpoints;
}
