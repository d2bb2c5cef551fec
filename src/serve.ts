import { flushCompileCache } from 'node:module';
import { type Service, startService } from './app.ts';
import { readConfig } from './config.ts';
import { localDate } from './domain/calendar.ts';
import { collectAtRest } from './event-loop/rest.ts';
import { UnusableAddress } from './http/unusable-address.ts';
import { createLogger } from './logger.ts';
import { ConfigError } from './runtime/config-error.ts';
import { Unavailable } from './runtime/unavailable.ts';
import { UnusableStore } from './runtime/unusable-store.ts';
import { firstAccount } from './text/venue-command.ts';

/** How long the whole stop may take. docs/operations/monitoring.md promises 10 s. */
const STOP_WITHIN_MS = 9_000;
/** How long requests and jobs in flight may take to finish after the drain. */
const FINISH_WITHIN_MS = 7_000;

function configOrExit() {
  try {
    const [argument] = process.argv.slice(2);
    // Reject arguments such as `--port 8080`; otherwise the service would start on another port.
    if (argument !== undefined)
      throw new ConfigError(
        argument,
        'the service takes no arguments; its settings are environment variables (see docs/operations/settings.md)',
      );
    return readConfig(process.env);
  } catch (error) {
    exitWithOneLine(error);
    throw error;
  }
}

/** Errors whose message says what to do. */
const ONE_LINE = [ConfigError, UnusableStore, UnusableAddress, Unavailable] as const;

/** Prints the error's one line and exits, if its message says what to do. */
function exitWithOneLine(error: unknown): void {
  if (!(ONE_LINE.some((kind) => error instanceof kind) && error instanceof Error)) return;
  console.error(error.message);
  process.exit(error instanceof ConfigError ? 2 : 1);
}

/**
 * Runs the service. Exits with 2 when the configuration is invalid, with 1 when a store or the address cannot be used.
 * @returns what stops it and ends the process, on a signal
 */
export async function serve(): Promise<(signal: NodeJS.Signals) => void> {
  const config = configOrExit();
  const logger = await createLogger(config);

  if (config.clockShift !== 0)
    logger.warn({ milliseconds: config.clockShift }, 'CLOCK_SHIFT is set: the service does not run on real time');

  const service = await startService(config, logger, { withWriter: true }).catch((error: unknown) => {
    exitWithOneLine(error);
    logger.fatal({ err: error }, 'The service failed to start');
    process.exit(1);
  });
  void greet(service);
  // Save the compile cache now, because Node saves it only on a clean exit.
  setImmediate(flushCompileCache);
  collectAtRest();
  // The store was exported to another place: work done here would be lost or done twice.
  void service.fenced.then((problem) => {
    logger.fatal(problem);
    process.exit(1);
  });

  let stopping = false;
  return (signal) => {
    if (stopping) return;
    stopping = true;
    // Ctrl-C means a terminal session, so there is no load balancer to drain.
    const drainMs = signal === 'SIGTERM' ? config.drainMs : 0;
    logger.info({ signal, drainMs }, 'Stopping');
    setTimeout(
      () => {
        logger.error('Work in flight did not finish in time; exiting');
        process.exit(1);
      },
      Math.max(STOP_WITHIN_MS, drainMs + FINISH_WITHIN_MS),
    ).unref();
    service.stop(drainMs).then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, 'Failed to stop cleanly');
        process.exit(1);
      },
    );
  };
}

/** Prints the URLs and credentials on the terminal. */
async function greet({ core: { config, users }, app, demo }: Service): Promise<void> {
  const { publicUrl, dataDir, roles, metricsHost, metricsPort } = config;
  const metrics = metricsPort === undefined ? undefined : `http://${urlHost(metricsHost)}:${metricsPort}/metrics`;
  if (app === undefined) {
    const listens = metrics === undefined ? 'Nothing listens here' : `Only ${metrics} listens here`;
    console.log(`\n  Venue Booking Service: ${[...roles].join(', ')}. ${listens}, because ROLES lacks api.\n`);
    return;
  }
  const lines = [
    '',
    `  Venue Booking Service on ${publicUrl}`,
    `  API      ${publicUrl}/api/v1   (docs: ${publicUrl}/docs)`,
    `  Console  ${publicUrl}/console`,
    ...(config.mailInbox ? [`  Mail     ${publicUrl}/mail   (kept here instead of sent)`] : []),
    ...(metrics === undefined ? [] : [`  Metrics  ${metrics}`]),
  ];
  const space = demo?.communities[0]?.spaces[0];
  const brand = demo?.brands[0];
  if (demo !== undefined && space !== undefined && brand !== undefined) {
    const date = localDate(Date.now() + config.clockShift + 7 * 86_400_000, 'UTC');
    const url = `${publicUrl}/api/v1/spaces/${space.id}/availability?date=${date}`;
    lines.push(
      `  Demo     keys and sign-ins are in ${dataDir}/demo.json`,
      '',
      `  curl -H 'Authorization: Bearer ${brand.apiKey}' '${url}'`,
    );
  } else if (config.demo) {
    // The store holds other data, or its demo.json is missing.
    const isOurs = config.eventStoreUrl === undefined && config.mongoUrl === undefined;
    const remedy = isOurs ? `. To get demo data, stop, empty ${dataDir} and start again` : '';
    lines.push(`  Demo     none: the store was not empty${remedy}`);
  }
  // If the users cannot be read now, print nothing about accounts.
  if (demo === undefined && !(await users.exist().catch(() => true)))
    lines.push(
      '  Accounts none yet. Create the first one to sign in:',
      '',
      firstAccount()
        .map((each) => `  ${each}`)
        .join('\n'),
    );
  console.log(`${lines.join('\n')}\n`);
}

/** An IPv6 address is in brackets in a URL. */
const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);
