import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { type Service, startService } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import type { Demo } from '../../src/demo/demo-file.ts';
import { freePort } from '../free-port.ts';

/** A running service with its demo data. */
export type Running = {
  readonly url: string;
  readonly service: Service;
  readonly demo: Demo;
  stop(): Promise<void>;
};

export async function startDemo(env: Readonly<Record<string, string>> = {}): Promise<Running> {
  const dataDir = await mkdtemp(join(tmpdir(), 'venue-console-'));
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const settings = { PORT: String(port), PUBLIC_URL: url, LOG_LEVEL: 'error', WEBHOOKS_ALLOW_PRIVATE: 'true' };
  const config = readConfig({ ...settings, ...env, DATA_DIR: dataDir });
  const service = await startService(config, pino({ level: config.logLevel }));
  if (service.demo === undefined) throw new Error('The service has no demo data');
  return {
    url,
    service,
    demo: service.demo,
    async stop() {
      await service.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
