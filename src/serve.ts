import { flushCompileCache } from 'node:module';
import { pino } from 'pino';
import { type Service, startService } from './app.ts';
import { ConfigError, readConfig } from './config.ts';
import { localDate } from './domain/calendar.ts';

/** How long what is in flight may take to end after SIGTERM. */
const STOP_WITHIN_MS = 9_000;

function configOrExit() {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    process.exit(2);
  }
}

/** Runs the service until a signal ends the process; wrong configuration ends it with 2. */
export async function serve(): Promise<void> {
  const config = configOrExit();
  const logger = pino({ level: config.logLevel });

  if (config.clockShift !== 0)
    logger.warn({ milliseconds: config.clockShift }, 'CLOCK_SHIFT moves the clock of this service');

  const service = await startService(config, logger).catch((error: unknown) => {
    logger.fatal({ err: error }, 'the service cannot start');
    process.exit(1);
  });
  greet(service);
  // What was compiled is otherwise written down at a clean end only, and kill -9 is a way to end, too.
  setImmediate(flushCompileCache);

  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      logger.info({ signal }, 'stopping');
      setTimeout(() => {
        logger.error('what was in flight did not end in time');
        process.exit(1);
      }, STOP_WITHIN_MS).unref();
      service.stop().then(
        () => process.exit(0),
        (error: unknown) => {
          logger.error({ err: error }, 'stopping failed');
          process.exit(1);
        },
      );
    });
  }
}

/** Tells the person at the terminal where things are. */
function greet({ core: { config }, demo }: Service): void {
  const { publicUrl, dataDir } = config;
  const lines = [
    '',
    `  Venue Booking Service on ${publicUrl}`,
    `  API      ${publicUrl}/api/v1   (description: ${publicUrl}/docs)`,
    `  Console  ${publicUrl}/console`,
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
    // Somebody's own data, or a first start that was cut off.
    lines.push(`  Demo     none: it is made on an empty store only. For one, stop, empty ${dataDir} and start again`);
  }
  console.log(`${lines.join('\n')}\n`);
}
