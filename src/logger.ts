import { hostname } from 'node:os';
import { isMainThread, threadName } from 'node:worker_threads';
import { type Logger, pino } from 'pino';
import type { Config } from './config.ts';
import { defined } from './domain/defined.ts';

/** The logger of the service: JSON lines to standard output, which name the thread if it is not the main one. */
export const createLogger = ({ logLevel: level, place }: Config): Logger =>
  pino({
    level,
    base: defined({
      pid: process.pid,
      hostname: hostname(),
      place,
      thread: isMainThread ? undefined : (threadName ?? undefined),
    }),
  });
