import { hostname } from 'node:os';
import { type Logger, type LoggerOptions, pino } from 'pino';
import type { Config } from './config.ts';
import { defined } from './domain/defined.ts';
import { createLineLimit } from './runtime/line-limit.ts';
import { isLogUnavailable } from './runtime/unavailable.ts';

const DEBUG = pino.levels.values.debug ?? 20;

/** The limit of the lines about requests, by logger. */
const limits = new WeakMap<Logger, ReturnType<typeof createLineLimit>>();

function limitOf(logger: Logger): ReturnType<typeof createLineLimit> {
  const limit =
    limits.get(logger) ??
    createLineLimit((kind, lines) => logger.warn({ lines }, `${kind}: more lines about requests were left out`));
  limits.set(logger, limit);
  return limit;
}

/**
 * Logs at debug level only: errors caused by an event log outage, because the outage itself is logged; and lines about requests (`reqId`)
 * beyond a limit, because a stranger can send any number of them.
 */
export const hooks: NonNullable<LoggerOptions['hooks']> = {
  logMethod(args, method, level) {
    const [first, message]: unknown[] = args;
    const about: { readonly err?: unknown; readonly reqId?: unknown } =
      typeof first === 'object' && first !== null ? first : {};
    const isLeftOut =
      level > DEBUG && (isLogUnavailable(about.err) || (about.reqId !== undefined && !limitOf(this)(String(message))));
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
