import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, onTestFinished } from 'vitest';
import type { Demo } from '../../src/demo/demo-file.ts';
import { atEnd } from '../at-end.ts';
import { inProcessWith } from '../cli/in-process.ts';
import { type Ended, type Environment, type NodeProcess, runNode, startNode } from './node-process.ts';

/**
 * A new `DATA_DIR`, removed when the test has ended.
 * @param whenFinished from the test’s context, for concurrent tests: the global one may belong to another test
 */
export function temporaryDataDir(whenFinished: (remove: () => void) => void = onTestFinished): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'venue-booking-'));
  whenFinished(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return dataDir;
}

/** Runs the command line on a `DATA_DIR`, inside this process, which is faster. */
export const venue = (dataDir: string, ...args: readonly string[]) => inProcessWith({ DATA_DIR: dataDir }, ...args);

export const venueProcess = (dataDir: string, ...args: readonly string[]): Promise<Ended> =>
  runNode('src/cli.js', args, { DATA_DIR: dataDir });

export type ServiceProcess = NodeProcess & {
  readonly dataDir: string;
  /** The content of `demo.json` after the first start. */
  demo(): Demo;
};

/**
 * Starts `node src/main.js` and waits until it is ready. It is killed when the test has ended.
 * @param whenFinished see {@link temporaryDataDir}
 */
export async function startServiceProcess(
  dataDir: string,
  env?: Environment,
  whenFinished: (end: () => Promise<void>) => void = onTestFinished,
): Promise<ServiceProcess> {
  const service = await start(dataDir, env);
  whenFinished(async () => void (await service.end('SIGKILL')));
  return service;
}

/** One service, on a new `DATA_DIR`, shared by all tests of a `describe` or a file. */
export function sharedServiceProcess(): () => ServiceProcess {
  let service: ServiceProcess;
  const whenFinished = atEnd();
  beforeAll(async () => {
    service = await startServiceProcess(temporaryDataDir(whenFinished), {}, whenFinished);
  });
  return () => service;
}

async function start(dataDir: string, env: Environment = {}): Promise<ServiceProcess> {
  const service = await startNode('src/main.js', '/readyz', { LOG_LEVEL: 'warn', DATA_DIR: dataDir, ...env });
  return { ...service, dataDir, demo: () => JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) };
}
