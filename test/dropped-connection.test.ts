import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { type Service, startService } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { mongoServer, ownDatabase } from './document-store/engines.ts';
import { createOwnLog } from './event-store/eventstoredb/own-log.ts';
import { freePort } from './free-port.ts';
import { type Passing, startProxyTo } from './proxy.ts';

/** The first of what passes, where starts differ most, and then so many that are spread evenly, so that the test takes seconds. */
const FIRST = 3;
const SPREAD = 12;

/** Starts the service on both engines, through a proxy to one of them. Counts what passes, and drops the nth. */
async function startWithDrop(engine: 'EventStoreDB' | 'MongoDB', passing: Passing, nth: number): Promise<number> {
  const log = await createOwnLog({ forProxy: true });
  const dataDir = await mkdtemp(join(tmpdir(), 'venue-'));
  let passed = 0;
  const urls = { EventStoreDB: log.settings.EVENTSTORE_URL, MongoDB: ownDatabase() };
  const proxy = await startProxyTo(urls[engine], (what) => {
    if (what !== passing) return false;
    passed += 1;
    return passed === nth;
  });
  urls[engine] = proxy.url;
  let service: Service | undefined;
  try {
    const config = readConfig({
      PORT: String(await freePort()),
      DATA_DIR: dataDir,
      SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      ...log.settings,
      EVENTSTORE_URL: urls.EventStoreDB,
      MONGODB_URL: urls.MongoDB,
    });
    service = await startService(config, pino({ level: 'silent' }));
    expect((await fetch(`http://127.0.0.1:${config.port}/healthz`)).status).toBe(200);
    return passed;
  } finally {
    await service?.stop();
    proxy.close();
    await log.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

describe.skipIf('missing' in mongoServer)('a start survives one dropped connection, whenever it drops', () => {
  for (const engine of ['EventStoreDB', 'MongoDB'] as const) {
    for (const passing of ['connection', 'request', 'answer'] as const) {
      test(`of ${engine}, at each ${passing}`, { timeout: 120_000 }, async () => {
        const all = await startWithDrop(engine, passing, 0);
        expect(all).toBeGreaterThan(0);
        const step = Math.max(1, Math.ceil((all - FIRST) / SPREAD));
        for (let nth = 1; nth <= all; nth += nth < FIRST ? 1 : step) await startWithDrop(engine, passing, nth);
      });
    }
  }
});
