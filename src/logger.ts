import { hostname } from 'node:os';
import { type Logger, type LoggerOptions, pino } from 'pino';
import type { Config } from './config.ts';
import { defined } from './domain/defined.ts';
import { isLogUnavailable } from './runtime/unavailable.ts';

const DEBUG = pino.levels.values.debug ?? 20;
const INFO = pino.levels.values.info ?? 30;

/** The lowest status of a request that failed. */
const FAILED = 500;

/** How many lines about requests with the same message are written within this time. */
const LINES = 20;
const WITHIN_MS = 10_000;

/** The number of lines about requests within the time, by logger and message. */
const counts = new WeakMap<Logger, Map<string, number>>();

/** Counts a line about a request. @returns whether it is written */
function isWithinLimit(logger: Logger, message: string): boolean {
  const ofLogger = counts.getOrInsertComputed(logger, () => new Map());
  const count = ofLogger.getOrInsert(message, 0) + 1;
  ofLogger.set(message, count);
  if (count === 1)
    setTimeout(() => {
      const lines = ofLogger.getOrInsert(message, 0) - LINES;
      ofLogger.delete(message);
      if (lines > 0) logger.warn({ lines }, `${message}: more lines about requests were left out`);
    }, WITHIN_MS).unref();
  return count <= LINES;
}

/**
 * Logs at debug level only: errors caused by an event log outage, because the outage itself is logged; and lines about failed requests
 * (`reqId`) beyond a limit, because a stranger can send any number of them.
 */
export const hooks: NonNullable<LoggerOptions['hooks']> = {
  logMethod(args, method, level) {
    const [first, message]: unknown[] = args;
    const about: { readonly err?: unknown; readonly reqId?: unknown; readonly status?: unknown } =
      typeof first === 'object' && first !== null ? first : {};
    const isAboutFailure =
      about.reqId !== undefined && (level > INFO || (level > DEBUG && Number(about.status) >= FAILED));
    const isLeftOut =
      (level > DEBUG && isLogUnavailable(about.err)) || (isAboutFailure && !isWithinLimit(this, String(message)));
    if (isLeftOut) this.debug(...args);
    else method.apply(this, args);
  },
};

/** The service's logger on standard output: JSON lines, or readable ones on a terminal. */
export async function createLogger({ logLevel: level, place }: Config): Promise<Logger> {
  const options = { level, hooks, base: defined({ pid: process.pid, hostname: hostname(), place }) };
  if (!process.stdout.isTTY) return pino(options);
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ sync: true, ignore: 'pid,hostname' }));
}
