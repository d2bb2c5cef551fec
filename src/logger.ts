import { hostname } from 'node:os';
import { type Logger, type LoggerOptions, pino } from 'pino';
import type { Config } from './config.ts';
import { defined } from './domain/defined.ts';
import { isLogUnavailable } from './runtime/unavailable.ts';

const DEBUG = pino.levels.values.debug ?? 20;

/** Logs errors caused by an event log outage at debug level only, because the outage itself is logged. */
export const hooks: NonNullable<LoggerOptions['hooks']> = {
  logMethod(args, method, level) {
    const [first]: unknown[] = args;
    const error = typeof first === 'object' && first !== null && 'err' in first ? first.err : undefined;
    if (level > DEBUG && isLogUnavailable(error)) this.debug(...args);
    else method.apply(this, args);
  },
};

/** The service's logger: JSON lines on standard output. */
export const createLogger = ({ logLevel: level, place }: Config): Logger =>
  pino({
    level,
    hooks,
    base: defined({ pid: process.pid, hostname: hostname(), place }),
  });
