import { expect, onTestFinished } from 'vitest';
import { ownDatabase } from '../document-store/engines.ts';
import { createOwnLog } from '../event-store/eventstoredb/own-log.ts';
import { type Ended, type Environment, runNode } from './node-process.ts';
import { type ServiceProcess, startServiceProcess, temporaryDataDir } from './service-process.ts';

/** Engines that hold nothing yet, and how a service and the command line use them. */
export type Place = {
  readonly dataDir: string;
  readonly env: Environment;
  start(env?: Environment): Promise<ServiceProcess>;
  run(...args: readonly string[]): Promise<Ended>;
  /** Runs a command that must succeed, and parses its JSON output. */
  json(...args: readonly string[]): Promise<ReturnType<typeof JSON.parse>>;
};

function place(settings: Environment): Place {
  const dataDir = temporaryDataDir();
  const env = { DATA_DIR: dataDir, ...settings };
  return {
    ...{ dataDir, env },
    start: (more = {}) => startServiceProcess(dataDir, { ...env, ...more }),
    run: (...args) => runNode('src/cli.js', args, env),
    async json(...args) {
      const ended = await runNode('src/cli.js', [...args, '--json'], env);
      expect(ended.code, ended.stderr).toBe(0);
      return JSON.parse(ended.stdout);
    },
  };
}

export const embeddedPlace = async (settings: Environment): Promise<Place> => place(settings);

/** EventStoreDB, or the test server, and MongoDB, or its stand-in. */
export async function serversPlace(settings: Environment): Promise<Place> {
  const log = await createOwnLog();
  onTestFinished(() => log.stop());
  return place({ ...log.settings, MONGODB_URL: ownDatabase(), ...settings });
}
