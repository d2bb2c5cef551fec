import { existsSync } from 'node:fs';
import type { Command } from '@commander-js/extra-typings';
import { pino } from 'pino';
import { openBase } from '../base.ts';
import type { Config } from '../config.ts';
import { minOf } from '../domain/extremes.ts';
import { checkStopped, locationsOf } from '../engines.ts';
import { ConfigError } from '../runtime/config-error.ts';
import { secretKeyFile } from '../settings/secret-key.ts';
import { isKeyOf } from '../store-identity/store-memory.ts';
import { checkPurpose, importStore } from '../transfer/fill-store.ts';
import { readWholeExport, type WholeExport } from '../transfer/read-export.ts';
import { UnusableCopy } from '../transfer/unusable-copy.ts';
import { type Invoked, operatorConfig, printAnswer, tell } from './operation.ts';
import { withProgressBar } from './progress.ts';
import { onStores } from './stores.ts';
import { subcommand } from './subcommand.ts';

/** Poll interval for the read models being built. */
const POLL_MS = 100;

export function importCommands(venue: Command): void {
  subcommand(
    venue,
    'import',
    'fill an empty store, on any engines, from an export with records; continues an interrupted import',
    'import store.ndjson',
    `Point DATA_DIR, EVENTSTORE_URL and MONGODB_URL at the empty store, and set the SECRET_KEY of the exported store (or copy its secret.key
into DATA_DIR). Import an export in one place only: its log continues there.`,
  )
    .argument('<file>', 'an export made with --with-records')
    .action(async (file, _, command) => {
      const onStep = (what: string) => tell(command, what);
      const whole = checkPurpose(file, await readWholeExport(file), 'move');
      const { header, trailer } = whole;
      const keyFile = secretKeyFile(process.env);
      // Otherwise the configuration would create a new key.
      if (keyFile !== undefined && !existsSync(keyFile))
        throw new ConfigError(
          'SECRET_KEY',
          `is needed, or ${keyFile} with the secret.key of the store that was exported`,
        );
      const config = operatorConfig();
      if (!isKeyOf(header, config.secretKey))
        throw new ConfigError('SECRET_KEY', `is not the key that the secrets in ${file} are sealed with`);
      checkStreams(config, file, whole);
      await checkStopped(config);
      await onStores(config, (stores, { clock }) =>
        importStore({
          ...stores,
          clock,
          file,
          whole,
          locations: locationsOf(config),
          onStep,
          otherwise: 'An import needs an empty store: name another DATA_DIR, EVENTSTORE_URL or MONGODB_URL',
          withProgress: (work) => withProgressBar(command, work),
        }),
      );
      const { events, records } = trailer;
      onStep('Building the read models');
      await buildReadModels(config, events, command);
      printAnswer(command, { json: { file, logId: header.logId, events, records } });
    });
}

/** @throws {UnusableCopy} if EventStoreDB would not count a stream of the export as ours */
export function checkStreams({ eventStoreUrl }: Config, file: string, { foreignStream }: WholeExport): void {
  if (eventStoreUrl !== undefined && foreignStream !== undefined)
    throw new UnusableCopy(`${file} holds the stream ${foreignStream}, which EventStoreDB would not count as ours`);
}

/**
 * Builds the read models, or waits for a process started meanwhile to do so. Does not start the service, which would write records of its
 * own.
 * @throws if one cannot be built
 */
async function buildReadModels(config: Config, total: number, command: Invoked): Promise<void> {
  const logger = pino({ level: config.logLevel }, pino.destination(2));
  const { projector, close } = await openBase(config, logger, { kind: 'tool' });
  projector.start();
  try {
    await withProgressBar(command, async (show) => {
      for (let isBuilt = false; !isBuilt; ) {
        isBuilt = await projector.readModels.readable(POLL_MS);
        const { problems } = await projector.readModels.status(1);
        const failing = problems.find((problem) => problem.state === 'failing');
        if (failing !== undefined)
          throw new Error(`The read model ${failing.readModel} cannot be built: ${failing.message}`);
        const left = problems.flatMap((problem) => (problem.state === 'building' ? [problem.done] : []));
        show({ done: minOf(left, total), total });
      }
    });
  } finally {
    await projector.stop();
    await close();
  }
}
