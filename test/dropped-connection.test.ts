import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { type Service, startService } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { MONGODB, ownDatabase } from './document-store/engines.ts';
import { createOwnLog } from './event-store/eventstoredb/own-log.ts';
import { freePort } from './free-port.ts';
import { lacks } from './lacks.ts';
import { type Passing, startProxyTo } from './proxy.ts';

/** The first chunks, where starts differ most, and then a number of evenly spread ones, so that the test takes seconds. */
const FIRST = 3;
const SPREAD = 12;

const ENGINES = ['EventStoreDB', 'MongoDB'] as const;
type Engine = (typeof ENGINES)[number];

/** Starts the service on both engines, each through a proxy. Counts the chunks of each, and drops the nth there. */
async function startWithDrops(
  passing: Passing,
  nth: Readonly<Record<Engine, number>>,
): Promise<Record<Engine, number>> {
  const log = await createOwnLog({ forProxy: true });
  const dataDir = await mkdtemp(join(tmpdir(), 'venue-'));
  const passed = { EventStoreDB: 0, MongoDB: 0 };
  const proxyTo = (engine: Engine, url: string) =>
    startProxyTo(url, (what) => {
      if (what !== passing) return false;
      passed[engine] += 1;
      return passed[engine] === nth[engine];
    });
  const proxies = [
    await proxyTo('EventStoreDB', log.settings.EVENTSTORE_URL),
    await proxyTo('MongoDB', ownDatabase()),
  ] as const;
  let service: Service | undefined;
  try {
    const config = readConfig({
      PORT: String(await freePort()),
      DATA_DIR: dataDir,
      SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      ...log.settings,
      EVENTSTORE_URL: proxies[0].url,
      MONGODB_URL: proxies[1].url,
    });
    service = await startService(config, pino({ level: 'silent' }));
    expect((await fetch(`http://127.0.0.1:${config.port}/healthz`)).status).toBe(200);
    return passed;
  } finally {
    await service?.stop();
    for (const proxy of proxies) proxy.close();
    await log.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** The chunks to drop, one per start. */
function dropped(all: number): number[] {
  const step = Math.max(1, Math.ceil((all - FIRST) / SPREAD));
  return Array.from({ length: all }, (_, at) => at + 1).filter((nth) => nth <= FIRST || (nth - FIRST) % step === 0);
}

describe.skipIf(lacks(MONGODB))('a start survives a dropped connection to each engine at any point', () => {
  test.each(['connection', 'request', 'answer'] as const)('at each %s', { timeout: 240_000 }, async (passing) => {
    const all = await startWithDrops(passing, { EventStoreDB: 0, MongoDB: 0 });
    for (const engine of ENGINES) expect(all[engine]).toBeGreaterThan(0);
    const [ofLog, ofDocuments] = ENGINES.map((engine) => dropped(all[engine]));
    for (let at = 0; at < Math.max(ofLog?.length ?? 0, ofDocuments?.length ?? 0); at += 1) {
      const nth = { EventStoreDB: ofLog?.[at] ?? 0, MongoDB: ofDocuments?.[at] ?? 0 };
      await startWithDrops(passing, nth).catch((error) => {
        throw new Error(`${JSON.stringify(nth)} of ${JSON.stringify(all)}`, { cause: error });
      });
    }
  });
});
