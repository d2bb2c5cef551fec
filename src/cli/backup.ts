import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from '@commander-js/extra-typings';
import type { Fork } from '../audit/fork.ts';
import { readRetainedCheckpoints, UnusableCheckpoints } from '../audit/retained-checkpoints.ts';
import { SEAL_KEYS } from '../audit/seal-records.ts';
import { parseVerifierKey } from '../audit/signed-note.ts';
import type { Config } from '../config.ts';
import { operatorOf } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import {
  COMMAND_STARTS_WITHIN_MS,
  checkStopped,
  discardReadModels,
  locationsOf,
  openDocuments,
  setStoreAside,
} from '../engines.ts';
import { ConfigError } from '../runtime/config-error.ts';
import { writePrivate } from '../runtime/private-file.ts';
import { UnusableStore } from '../runtime/unusable-store.ts';
import { currentKey } from '../secrets/secret-key.ts';
import { secretKeyFile } from '../settings/secret-key.ts';
import { isFenced, standstillProblem } from '../store-identity/standstill.ts';
import { isKeyOf } from '../store-identity/store-memory.ts';
import { backupIn, keyFileOf, pruneBackups } from '../transfer/backup-folder.ts';
import { checkFillable } from '../transfer/fill-log.ts';
import { checkPurpose, type FullExport, restoreStore } from '../transfer/fill-store.ts';
import { adoptStore } from '../transfer/finish.ts';
import { noteBackup } from '../transfer/last-backup.ts';
import { eventsIn, linesOf, readWholeExport } from '../transfer/read-export.ts';
import { UnusableCopy } from '../transfer/unusable-copy.ts';
import { type LostDelivery, lostDeliveries } from '../webhooks/inspect/lost-deliveries.ts';
import { fromOne, wholeNumber } from './arguments.ts';
import { writeExport } from './export.ts';
import { checkStreams } from './import.ts';
import { type Answer, type Invoked, operatorConfig, printAnswer, tell } from './operation.ts';
import { withProgressBar } from './progress.ts';
import { onStores } from './stores.ts';
import { subcommand } from './subcommand.ts';

/** How many ids of each kind a restore skips: more than a service assigns between two backups. */
const SKIPPED_IDS = 1_000_000;

export function backupCommands(venue: Command): void {
  subcommand(
    venue,
    'backup',
    'copy log and records into a file, even while the service runs; continues an interrupted backup',
    ['backup /backups/2026-11-21.ndjson', 'backup --into /backups --keep 7'],
    `The file is an export that keeps the store: venue restore reads it, on any engines. A backup ends once the file was read back.
With --into, the file is named by the time, such as venue-2026-11-21T03-00-00Z.ndjson. --keep then deletes the oldest complete backups
of this store in the folder. Interrupted backups and all other files stay.`,
  )
    .argument('[file]', 'a new file, or the file of an interrupted backup')
    .option('--into <folder>', 'make a new file in this folder')
    .option('--keep <count>', 'how many backups of this store to keep in the folder, the new one included', fromOne)
    .option(
      '--with-secret-key',
      'copy the secret key into a second file, FILE.key; the two are enough to read all secrets',
    )
    .action(async (named, { into, keep, withSecretKey = false }, command) => {
      if (named !== undefined && into !== undefined) command.error('name a file or --into, not both');
      if (keep !== undefined && into === undefined) command.error('--keep goes with --into');
      const file = named ?? (into === undefined ? undefined : newBackupIn(into));
      if (file === undefined) return command.error('name a file, or a folder with --into');
      const config = operatorConfig();
      const begunAt = toTimestamp(Date.now());
      const { events, records } = await onStores(config, (stores, ambient) =>
        writeExport({ config, stores, ambient, part: {}, purpose: 'keep', file }, command),
      );
      const { header } = await readWholeExport(file);
      if (withSecretKey) writePrivate(keyFileOf(file), currentKey(config.secretKey).toString('base64'), 'replace');
      const { logId } = header;
      await onStores(config, ({ documents }) => noteBackup(documents, begunAt));
      const pruned = into !== undefined && keep !== undefined ? await pruneBackups(into, keep, { file, logId }) : {};
      printAnswer(command, {
        json: { file, logId, events, records, secretKey: withSecretKey, ...pruned },
        note: withSecretKey ? undefined : 'The secret key is not in the backup: keep it in another place.',
      });
    });

  subcommand(
    venue,
    'restore',
    "restore a backup, or join parts that were restored with the engines' own tools",
    [
      'restore /backups/2026-11-21.ndjson',
      'restore /backups/2026-11-21.ndjson --overwrite',
      'restore /backups/2026-11-21.ndjson --overwrite --checkpoint checkpoint.txt',
      'restore --adopt',
    ],
    `The service must be stopped. Webhooks may be sent again, with the same webhook-id.
Checkpoints keep their origin and key only if SEAL_FILE or --checkpoint has checkpoints and the restored log continues all. Otherwise both
are replaced, because one key must not sign two histories, and a signed note records the change.`,
  )
    .argument('[file]', 'a backup')
    .option('--adopt', 'use log and records as they are; the read models are rebuilt')
    .option('--overwrite', 'replace the contents of the store: embedded files are moved aside, collections are dropped')
    .option('--checkpoint <file>', 'a checkpoint of the store that was kept elsewhere, besides those in SEAL_FILE')
    .option('--skip-ids <count>', 'number of ids of each kind to skip', skippedIds, SKIPPED_IDS)
    .action(async (file, { adopt = false, overwrite = false, checkpoint, skipIds }, command) => {
      if (adopt === (file !== undefined)) command.error('name a backup, or --adopt');
      if (adopt && overwrite) command.error('--overwrite goes with a backup: --adopt replaces nothing');
      const options = { overwrite, checkpoint, skipIds };
      const answer = file === undefined ? adoptAsItIs(operatorConfig(), options) : restoreFrom(file, options, command);
      printAnswer(command, await answer.catch(refuseCheckpoints));
    });
}

function skippedIds(text: string): number {
  const count = wholeNumber(text);
  if (count < 1 || count > 1_000_000_000) throw new InvalidArgumentError('It must be 1 to 1,000,000,000.');
  return count;
}

/** @throws {UnusableCopy} if another backup has begun in the same second */
function newBackupIn(folder: string): string {
  const file = backupIn(folder, Date.now());
  if (existsSync(file)) throw new UnusableCopy(`${file} exists: another backup has just begun`);
  return file;
}

type RestoreOptions = {
  readonly overwrite: boolean;
  readonly checkpoint: string | undefined;
  readonly skipIds: number;
};

function refuseCheckpoints(error: unknown): never {
  if (error instanceof UnusableCheckpoints)
    throw new UnusableCopy(`${error.message}. Name another with --checkpoint`, error);
  throw error;
}

const finishingOf = ({ secretKey, operator, sealFile }: Config, { checkpoint, skipIds }: RestoreOptions) => ({
  secretKey,
  skippedIds: skipIds,
  actor: operatorOf(operator),
  checkpointFiles: { sealFile, checkpointFile: checkpoint },
});

async function adoptAsItIs(config: Config, options: RestoreOptions): Promise<Answer> {
  const { skipIds } = options;
  // Before the files are opened, because damaged read models must not prevent a restore.
  await discardReadModels(config);
  const { lost, fork } = await onStores(config, (stores, deps) =>
    adoptStore({ ...stores, ...deps, ...finishingOf(config, options), locations: locationsOf(config) }),
  );
  return {
    json: { adopted: true, skippedIds: skipIds, lost, fork },
    note: noteOf(lost, fork),
  };
}

async function restoreFrom(file: string, options: RestoreOptions, command: Invoked): Promise<Answer> {
  const { overwrite, skipIds } = options;
  const whole = checkPurpose(file, await readWholeExport(file), 'keep');
  const { header, trailer } = whole;
  const key = secretKeyBeside(file, whole);
  const config = operatorConfig(key && { SECRET_KEY: key.text });
  checkStreams(config, file, whole);
  if (!isKeyOf(header, config.secretKey))
    throw new ConfigError('SECRET_KEY', `is not the key that the secrets in ${file} are sealed with`);

  await checkCheckpoint(file, options);
  await checkStopped(config);
  const { lost, aside } = overwrite ? await replaceStore(config, file) : { lost: [], aside: undefined };
  const fork = await onStores(config, (stores, deps) =>
    restoreStore({
      ...stores,
      ...deps,
      ...finishingOf(config, options),
      file,
      whole,
      ...fillingOf(config),
      onStep: (what) => tell(command, what),
      begun: () => key && writePrivate(key.file, key.text, 'new'),
      withProgress: (work) => withProgressBar(command, work),
    }),
  );
  const { events, records } = trailer;
  return {
    json: { file, logId: header.logId, events, records, skippedIds: skipIds, aside, lost, fork },
    note: noteOf(lost, fork),
  };
}

/** Moves a store aside, or drops it, once the backup is known to be usable. */
async function replaceStore(
  config: Config,
  file: string,
): Promise<{ readonly lost: readonly LostDelivery[]; readonly aside: string | undefined }> {
  if (config.eventStoreUrl !== undefined)
    await onStores(config, ({ events }) => checkFillable({ events, file, ...fillingOf(config) }));
  // A store with a damaged file can still be replaced.
  const lost = await lostOf(config, file).catch((error: unknown): LostDelivery[] => {
    if (error instanceof UnusableStore) return [];
    throw error;
  });
  return { lost, aside: await setStoreAside(config) };
}

const fillingOf = (config: Config) => ({
  locations: locationsOf(config),
  otherwise:
    config.eventStoreUrl === undefined
      ? 'To replace it, add --overwrite'
      : 'EventStoreDB cannot be emptied: name an empty one',
});

/** Deliveries of the store whose events the backup lacks. Does not open the log, which may be damaged. */
async function lostOf(config: Config, file: string): Promise<LostDelivery[]> {
  const documents = await openDocuments(config, undefined, { startWithinMs: COMMAND_STARTS_WITHIN_MS });
  try {
    // The log of a fenced store continues elsewhere, so a backup of it must not continue here.
    if (await isFenced(documents)) throw new UnusableCopy(standstillProblem({ kind: 'fence' }, locationsOf(config)));
    return await lostDeliveries(documents, eventsIn(file));
  } finally {
    await documents.close();
  }
}

/** @throws {UnusableCheckpoints} before any change, if the checkpoints do not belong to the store */
async function checkCheckpoint(file: string, { checkpoint }: RestoreOptions): Promise<void> {
  if (checkpoint === undefined) return;
  for await (const { line } of linesOf(file)) {
    if (!('record' in line) || line.record.collection !== SEAL_KEYS.name) continue;
    const key = parseVerifierKey(String(line.record.document.verifierKey));
    if (key !== undefined) await readRetainedCheckpoints(checkpoint, key);
  }
}

/** The key beside a backup and the file for it, unless the store has a key already. */
function secretKeyBeside(
  backup: string,
  { header }: FullExport,
): { readonly file: string; readonly text: string } | undefined {
  const file = secretKeyFile(process.env);
  if (file === undefined || existsSync(file)) return undefined;
  const copy = keyFileOf(backup);
  const stats = lstatSync(copy, { throwIfNoEntry: false });
  if (stats === undefined)
    throw new ConfigError('SECRET_KEY', `is needed, or ${file} with the secret.key of the store that was backed up`);
  const text = stats.isFile() && stats.size < LONGEST_KEY ? readFileSync(copy, 'utf8') : '';
  if (!isKeyOf(header, Buffer.from(text, 'base64')))
    throw new UnusableCopy(`${copy} does not hold the key that the secrets in ${backup} are sealed with`);
  return { file, text };
}

/** In bytes. A key has 44. */
const LONGEST_KEY = 1_000;

function noteOf(lost: readonly LostDelivery[], fork: Fork | undefined): string {
  const isSent = lost.some(({ state, sent }) => sent || state === 'Delivered');
  return [
    'Webhooks may be sent again, with the same webhook-id. The next start builds the read models.',
    ...(isSent ? ['Of the lost events, receivers know those that were sent.'] : []),
    ...(fork === undefined
      ? []
      : [
          'Checkpoints have a new origin and key. Name another SEAL_FILE, and give the auditors what this prints: venue seal-key --json',
        ]),
  ].join('\n');
}
