import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { type Service, startService } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { type Core, openCore } from '../../src/core.ts';
import type { Demo } from '../../src/demo/demo-file.ts';
import { freePort } from '../free-port.ts';
import { fillBusyStore } from './busy-store.ts';

type Community = Demo['communities'][number];
type Space = Community['spaces'][number];
type Brand = Demo['brands'][number];
type CommunityWithSpaces = Community & { readonly spaces: readonly [Space, ...Space[]] };

/** The accounts of every demo: Harbour Lofts and Union Yard with their spaces, Northwind Coffee and Juniper & Sons. */
export type DemoAccounts = {
  readonly communities: readonly [CommunityWithSpaces, CommunityWithSpaces];
  readonly brands: readonly [Brand, Brand];
};

/** A running service with its demo data. */
export type Running = {
  readonly url: string;
  readonly service: Service;
  readonly demo: Demo & DemoAccounts;
  stop(): Promise<void>;
};

export async function startDemo(
  env: Readonly<Record<string, string>> = {},
  /** Adds further data to the store while nothing else runs. */
  fill?: (core: Core, demo: DemoAccounts) => Promise<void>,
): Promise<Running> {
  const dataDir = await mkdtemp(join(tmpdir(), 'venue-console-'));
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const settings = { PORT: String(port), PUBLIC_URL: url, LOG_LEVEL: 'error', WEBHOOKS_ALLOW_PRIVATE: 'true' };
  const config = readConfig({ ...settings, ...env, DATA_DIR: dataDir });
  const logger = pino({ level: config.logLevel });
  let service = await startService(config, logger);
  const demo = withAccounts(service.demo);
  if (fill !== undefined) {
    await service.stop();
    const core = await openCore(config, logger);
    core.projector.start();
    await core.projector.readModels.readable(10_000);
    await fill(core, demo);
    await core.projector.stop();
    await core.close();
    service = await startService(config, logger);
  }
  return {
    url,
    service,
    demo,
    async stop() {
      await service.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

function withAccounts(demo: Demo | undefined): Running['demo'] {
  const [harbour, union] = demo?.communities.map(withSpaces) ?? [];
  const [northwind, juniper] = demo?.brands ?? [];
  if (!demo || !harbour || !union || !northwind || !juniper) throw new Error('The demo lacks accounts');
  return { ...demo, communities: [harbour, union], brands: [northwind, juniper] };
}

function withSpaces(community: Community): CommunityWithSpaces {
  const [first, ...others] = community.spaces;
  if (first === undefined) throw new Error(`${community.name} has no space`);
  return { ...community, spaces: [first, ...others] };
}

/** Starts the demo with the store of a busy community (`busy-store.ts`). */
export const startBusy = (env: Readonly<Record<string, string>> = {}): Promise<Running> =>
  startDemo(env, fillBusyStore);
