import { fchmodSync, fstatSync } from 'node:fs';
import type { Command } from '@commander-js/extra-typings';
import type { Config } from '../config.ts';
import { refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { checkStopped, openIdentity, type Stores } from '../engines.ts';
import { OWNER_ONLY } from '../runtime/private-file.ts';
import { readMemory } from '../store-identity/adopt.ts';
import { fence, isFenced, liftFence } from '../store-identity/standstill.ts';
import { STORE_FORMAT } from '../store-identity/store-format.ts';
import { type ExportFile, openExportFile } from '../transfer/export-file.ts';
import { exportStore } from '../transfer/export-store.ts';
import { FORMAT, type Header, type Purpose, type Trailer } from '../transfer/format.ts';
import { createLines, nothingWritten } from '../transfer/lines.ts';
import { moment } from './arguments.ts';
import { type Invoked, operatorConfig, printAnswer, refusedError, writerOf } from './operation.ts';
import { tellCount } from './progress.ts';
import { type Ambient, onStores } from './stores.ts';
import { subcommand } from './subcommand.ts';

export function exportCommands(venue: Command): void {
  subcommand(
    venue,
    'export',
    'write the log, or the whole store, as lines of JSON that are the same on every engine',
    [
      'export log.ndjson',
      'export --stream spaceDay-1-2026-11-21',
      'export --from 2026-11-01 --to 2026-12-01 november.ndjson',
      'export store.ndjson --with-records',
    ],
    `The last line has the counts and the SHA-256 of everything before it. Run the same command again to continue an interrupted export.
With records, secrets stay sealed: the import needs the same SECRET_KEY. The store is then fenced, so no process starts on it, because
its log continues where the export is imported. To undo that, see: venue unfence --help`,
  )
    .argument('[file]', 'a new file, or the file of an interrupted export (default: stdout)')
    .option('--from <time>', 'only events at or after this time', moment)
    .option('--to <time>', 'only events before this time', moment)
    .option('--stream <name>', 'only the events of one stream')
    .option(
      '--with-records',
      'include the records, to import the store elsewhere; stop the service first, the store is fenced',
    )
    .action(async (file, { from, to, stream, withRecords = false }, command) => {
      if (withRecords && (from ?? to ?? stream) !== undefined)
        command.error('--with-records goes with the whole log: leave --from, --to and --stream out');
      if (from !== undefined && to !== undefined && from >= to) command.error('--from must be before --to');
      const config = operatorConfig();
      if (withRecords) {
        await checkStopped(config);
        await fenceStore(config, file);
      }
      const part = defined({ from, to, stream });
      const purpose = withRecords ? 'move' : undefined;
      const trailer = await onStores(config, (stores, ambient) =>
        writeExport({ config, stores, ambient, part, purpose, file }, command),
      );
      if (file === undefined) return;
      printAnswer(command, {
        json: { file, ...trailer, fenced: withRecords },
        note: withRecords
          ? `The store is now fenced: no process starts on it. Import the export in one place only: venue import ${file}`
          : undefined,
      });
    });

  subcommand(
    venue,
    'unfence',
    'lift the fence of a store that was exported with its records',
    'unfence --not-imported',
    `Delete the export first. If it was imported, two stores would continue the same log.`,
  )
    .requiredOption('--not-imported', 'confirm that the export was not imported and never will be')
    .action(async (_, command) => {
      const config = operatorConfig();
      const wasFenced = await onStores(config, async (stores, { logger, clock }) => {
        await (await openIdentity(config, stores, logger, clock)).check({ fenced: true });
        return (await isFenced(stores.documents)) && (await liftFence(stores.documents));
      });
      if (!wasFenced) throw refusedError(refuse('ValidationError', 'The store is not fenced.'));
      printAnswer(command, { json: { fenced: false }, note: 'Delete the exports of the store.' });
    });
}

/**
 * Fences a store, so that no process uses it. After an error, the store is as it was.
 * @throws {StoreInUse} if a process uses it
 * @throws {UnusableCopy} if the export cannot be written to the file
 */
async function fenceStore(config: Config, file: string | undefined): Promise<void> {
  const isNew = await onStores(config, async (stores, ambient) => {
    const header = await headerOf({ config, stores, ambient, part: {}, purpose: 'move' });
    // An unusable file must not leave the store fenced.
    if (file !== undefined) await (await openExportFile(file, header)).close();
    return fence(stores.documents);
  });
  try {
    // A process that started before the fence is visible now, or sees the fence when it confirms the identity.
    await checkStopped(config);
  } catch (error) {
    if (isNew) await onStores(config, ({ documents }) => liftFence(documents));
    throw error;
  }
}

type HeaderOf = {
  readonly config: Config;
  readonly stores: Stores;
  readonly ambient: Ambient;
  readonly part: Pick<Header, 'from' | 'to' | 'stream'>;
  /** Undefined without records. */
  readonly purpose: Purpose | undefined;
};

type WriteExport = HeaderOf & { readonly file: string | undefined };

async function headerOf({ config, stores, ambient, part, purpose }: HeaderOf): Promise<Header> {
  const identity = await openIdentity(config, stores, ambient.logger, ambient.clock);
  await identity.check({ fenced: purpose !== 'keep' });
  if (!(await isFenced(stores.documents))) await identity.confirm();
  const probe = purpose && (await readMemory({ ...stores, ...config }))?.probe;
  const logId = await identity.logId();
  return { format: FORMAT, storeFormat: STORE_FORMAT, logId, ...part, ...defined({ probe, purpose }) };
}

export async function writeExport(deps: WriteExport, command: Invoked): Promise<Trailer> {
  const { stores, part, purpose, file } = deps;
  const { events, documents } = stores;
  const header = await headerOf(deps);
  if (part.stream !== undefined && !(await exists(stores, part.stream)))
    throw refusedError(refuse('ResourceNotFound', `There is no stream ${part.stream}.`));
  const copyTo = purpose === 'keep' && file !== undefined ? `${file}.records` : undefined;
  const records = purpose && { documents, ...defined({ copyTo }) };
  const out = file === undefined ? stdout(command, purpose !== undefined) : await openExportFile(file, header);
  try {
    const { begun, written } = out;
    if (begun !== undefined) tellCount(command, 'events were written before')({ done: begun.counts.events });
    return await exportStore({
      events,
      header,
      lines: createLines(out.write, written),
      ...defined({ begun, records }),
      onProgress: tellCount(command, 'events written'),
    });
  } finally {
    await out.close();
  }
}

async function exists({ events }: Stores, stream: string): Promise<boolean> {
  for await (const _ of events.readStream(stream, { limit: 1 })) return true;
  return false;
}

/** The output of an export without a file. */
function stdout(command: Invoked, isPrivate: boolean): ExportFile {
  const { fd } = process.stdout;
  const write = writerOf(command);
  if (isPrivate && fstatSync(fd).isFile()) fchmodSync(fd, OWNER_ONLY);
  return {
    written: nothingWritten(),
    begun: undefined,
    write: (chunk) => write(chunk.toString()),
    async close() {},
  };
}
