import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from '@commander-js/extra-typings';
import type { Fork } from '../audit/fork.ts';
import { readRetainedCheckpoints, UnusableCheckpoints } from '../audit/retained-checkpoints.ts';
import { SEAL_KEYS } from '../audit/seal-records.ts';
import { parseVerifierKey } from '../audit/signed-note.ts';
import { backUp, countOf, SECRET_KEY_FILE } from '../backup/back-up.ts';
import { eventsOf, recordsOf, verifyFiles } from '../backup/contents.ts';
import { checkFillable } from '../backup/fill-log.ts';
import { adoptStore, finish } from '../backup/finish.ts';
import { type Manifest, readManifest } from '../backup/manifest.ts';
import { lostSince, restore } from '../backup/restore.ts';
import { UnusableCopy } from '../backup/unusable-copy.ts';
import { type Config, secretKeyFile } from '../config.ts';
import { operatorOf } from '../domain/account.ts';
import {
  checkStopped,
  discardReadModels,
  enginesOf,
  locationsOf,
  openDocuments,
  openIdentity,
  setStoreAside,
} from '../engines.ts';
import type { OperatedEventStore } from '../event-store/event-store.ts';
import { ConfigError } from '../runtime/config-error.ts';
import { writePrivate } from '../runtime/private-file.ts';
import { UnusableStore } from '../runtime/unusable-store.ts';
import { isFenced, standstillProblem } from '../store-identity/standstill.ts';
import { isKeyOf } from '../store-identity/store-memory.ts';
import { fanOutPositions } from '../webhooks/fan-out/positions.ts';
import type { LostDelivery } from '../webhooks/inspect/lost-deliveries.ts';
import { wholeNumber } from './arguments.ts';
import { type Answer, type Invoked, operatorConfig, printAnswer } from './operation.ts';
import { tellCount, withProgressBar } from './progress.ts';
import { onStores } from './stores.ts';
import { subcommand } from './subcommand.ts';

/** How many ids of each kind a restore skips: more than a service assigns between two backups. */
const SKIPPED_IDS = 1_000_000;

export function backupCommands(venue: Command): void {
  subcommand(
    venue,
    'backup',
    'copy log and records into a folder, even while the service runs; continues an interrupted backup',
    'backup /backups/2026-11-21',
  )
    .argument('<dir>', 'an empty or new folder, or the folder of an interrupted backup')
    .option('--with-secret-key', 'copy the secret key, too; the backup alone is then enough to read all secrets')
    .action(async (dir, { withSecretKey = false }, command) => {
      const config = operatorConfig();
      const manifest = await onStores(config, async (stores, { logger, clock }) => {
        const identity = await openIdentity(config, stores, logger, clock);
        await identity.check();
        await identity.confirm();
        return backUp({
          ...stores,
          ...{ logId: await identity.logId(), engines: enginesOf(config), folder: dir },
          groups: () => fanOutPositions(stores.events),
          ...{ secretKey: config.secretKey, withSecretKey },
          onProgress: tellCount(command, 'events copied'),
        });
      });
      printAnswer(command, {
        json: { dir, ...summaryOf(manifest), secretKey: withSecretKey },
        note: withSecretKey ? undefined : 'The secret key is not in the backup: keep it in another place.',
      });
    });

  subcommand(
    venue,
    'restore',
    "restore a backup, or join parts that were restored with the engines' own tools",
    [
      'restore /backups/2026-11-21',
      'restore /backups/2026-11-21 --overwrite',
      'restore /backups/2026-11-21 --overwrite --checkpoint checkpoint.txt',
      'restore --adopt',
    ],
    `The service must be stopped. Webhooks may be sent again, with the same webhook-id.
Checkpoints keep their origin and key only if SEAL_FILE or --checkpoint has checkpoints and the restored log continues all. Otherwise both
are replaced, because one key must not sign two histories, and a signed note records the change.`,
  )
    .argument('[dir]', 'the folder of a backup')
    .option('--adopt', 'use log and records as they are; the read models are rebuilt')
    .option('--overwrite', 'replace the contents of the store: embedded files are moved aside, collections are dropped')
    .option('--checkpoint <file>', 'a checkpoint of the store that was kept elsewhere, besides those in SEAL_FILE')
    .option('--skip-ids <count>', 'number of ids of each kind to skip', skippedIds, SKIPPED_IDS)
    .action(async (dir, { adopt = false, overwrite = false, checkpoint, skipIds }, command) => {
      if (adopt === (dir !== undefined)) command.error('name the folder of a backup, or --adopt');
      if (adopt && overwrite) command.error('--overwrite goes with the folder of a backup: --adopt replaces nothing');
      const options = { overwrite, checkpoint, skipIds };
      const answer = dir === undefined ? adoptAsItIs(operatorConfig(), options) : restoreFrom(dir, options, command);
      printAnswer(command, await answer.catch(refuseCheckpoints));
    });
}

function skippedIds(text: string): number {
  const count = wholeNumber(text);
  if (count < 1 || count > 1_000_000_000) throw new InvalidArgumentError('It must be 1 to 1,000,000,000.');
  return count;
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
  ...{ secretKey, skippedIds: skipIds, actor: operatorOf(operator) },
  kept: { sealFile, checkpointFile: checkpoint },
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

async function restoreFrom(dir: string, options: RestoreOptions, command: Invoked): Promise<Answer> {
  const { overwrite, skipIds } = options;
  const manifest = readManifest(dir);
  await verifyFiles(dir, manifest);
  const key = secretKeyIn(dir, manifest);
  const config = operatorConfig(key && { SECRET_KEY: key.text });
  checkEngines(dir, manifest, config);
  if (!isKeyOf(manifest, config.secretKey))
    throw new ConfigError('SECRET_KEY', `is not the key that the secrets in ${dir} are sealed with`);

  await checkCheckpoint(dir, manifest, options);
  await checkStopped(config);
  const { lost, aside } = overwrite ? await replaceStore(config, dir, manifest) : { lost: [], aside: undefined };
  const locations = locationsOf(config);
  const fork = await onStores(config, async (stores, deps) => {
    await checkFillable(fillingOf(config, dir, manifest, stores.events));
    const begun = () => key && writePrivate(key.file, key.text, 'new');
    const groups = await withProgressBar(command, (onProgress) =>
      restore({ ...stores, folder: dir, manifest, locations, begun, onProgress }),
    );
    return finish({ ...stores, ...deps, ...finishingOf(config, options) }, groups);
  });
  return {
    json: { dir, ...summaryOf(manifest), skippedIds: skipIds, aside, lost, fork },
    note: noteOf(lost, fork),
  };
}

/** Moves a store aside, or drops it, once the backup is known to be usable. */
async function replaceStore(
  config: Config,
  dir: string,
  manifest: Manifest,
): Promise<{ readonly lost: readonly LostDelivery[]; readonly aside: string | undefined }> {
  if (config.eventStoreUrl !== undefined) {
    await onStores(config, ({ events }) => checkFillable(fillingOf(config, dir, manifest, events)));
  }
  // A store with a damaged file can still be replaced.
  const lost = await lostOf(config, dir, manifest).catch((error: unknown): LostDelivery[] => {
    if (error instanceof UnusableStore) return [];
    throw error;
  });
  return { lost, aside: await setStoreAside(config) };
}

const fillingOf = (config: Config, dir: string, manifest: Manifest, events: OperatedEventStore) => ({
  ...{ events, source: eventsOf(dir, manifest.log), log: locationsOf(config).log, copy: 'backup' },
  otherwise:
    config.eventStoreUrl === undefined
      ? 'To replace it, add --overwrite'
      : 'EventStoreDB cannot be emptied: name an empty one',
});

/** Deliveries of the store whose events the backup lacks. Does not open the log, which may be damaged. */
async function lostOf(config: Config, dir: string, manifest: Manifest): Promise<LostDelivery[]> {
  const documents = await openDocuments(config);
  try {
    // The log of a fenced store continues elsewhere, so a backup of it must not continue here.
    if (await isFenced(documents)) throw new UnusableCopy(standstillProblem({ kind: 'fence' }, locationsOf(config)));
    return await lostSince(documents, dir, manifest);
  } finally {
    await documents.close();
  }
}

/** @throws {UnusableCheckpoints} before any change, if the checkpoints do not belong to the store */
async function checkCheckpoint(dir: string, { records }: Manifest, { checkpoint }: RestoreOptions): Promise<void> {
  const file = records.find(({ collection }) => collection === SEAL_KEYS.name);
  if (checkpoint === undefined || file === undefined) return;
  for await (const { document } of recordsOf(dir, file)) {
    const key = parseVerifierKey(String(document.verifierKey));
    if (key !== undefined) await readRetainedCheckpoints(checkpoint, key);
  }
}

/** The key of the backup and the file for it, unless the store has a key already. */
function secretKeyIn(dir: string, manifest: Manifest): { readonly file: string; readonly text: string } | undefined {
  const file = secretKeyFile(process.env);
  if (file === undefined || existsSync(file)) return undefined;
  if (!manifest.secretKey)
    throw new ConfigError('SECRET_KEY', `is needed, or ${file} with the secret.key of the store that was backed up`);
  const copy = join(dir, SECRET_KEY_FILE);
  const found = lstatSync(copy, { throwIfNoEntry: false });
  const text = found?.isFile() === true && found.size < LONGEST_KEY ? readFileSync(copy, 'utf8') : '';
  if (!isKeyOf(manifest, Buffer.from(text, 'base64')))
    throw new UnusableCopy(`${copy} does not hold the key that the secrets in ${dir} are sealed with`);
  return { file, text };
}

/** In bytes. A key has 44. */
const LONGEST_KEY = 1_000;

function checkEngines(dir: string, { engines }: Manifest, config: Config): void {
  const { log, documents } = enginesOf(config);
  if (engines.log === log && engines.documents === documents) return;
  throw new UnusableCopy(
    `The backup in ${resolve(dir)} was taken on ${engines.log} and ${engines.documents} (log and documents), but this store uses ${log} and ${documents}. Check EVENTSTORE_URL and MONGODB_URL.`,
  );
}

const summaryOf = ({ logId, startedAt, records, log }: Manifest) => ({
  ...{ logId, startedAt, events: countOf(log), records: countOf(records) },
});

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
