import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createReadinessCheck } from '../../src/api/health.ts';
import { startService } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { UnusableAddress } from '../../src/http/unusable-address.ts';
import { startMonitoringServer } from '../../src/monitoring/monitoring-server.ts';
import { createPrometheus } from '../../src/monitoring/prometheus.ts';
import { createReadings } from '../../src/monitoring/readings.ts';
import { RELEASE } from '../../src/release.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';

const logger = pino({ level: 'silent' });

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'venue-monitoring-'));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
}

/** A process with these roles, in this one. @returns what asks its metrics port */
async function start(DATA_DIR: string, ROLES: string) {
  const port = await freePort();
  const config = readConfig({
    DATA_DIR,
    ROLES,
    DEMO: 'false',
    METRICS_PORT: String(port),
    PORT: String(await freePort()),
  });
  const service = await startService(config, logger);
  onTestFinished(() => service.stop());
  return (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
}

test('a process without the role api answers on its metrics port', async () => {
  const dataDir = await folder();
  const [scheduler] = await Promise.all([start(dataDir, 'scheduler'), start(dataDir, 'projector')]);
  expect(await (await scheduler('/healthz')).json()).toEqual({ status: 'ok', release: RELEASE });
  await eventually(async () => {
    const ready = await scheduler('/readyz');
    expect([ready.status, await ready.json()]).toMatchObject([200, { status: 'ready', eventsBehind: 0 }]);
  });
  const metrics = await scheduler('/metrics');
  expect(metrics.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const text = await metrics.text();
  expect(text).toContain('\nvenue_ready 1\n');
  expect(text).toContain('\nvenue_webhook_oldest_pending_seconds 0\n');
  const elsewhere = await scheduler('/api/v1/bookings');
  expect([elsewhere.status, await elsewhere.json()]).toMatchObject([404, { error: 'ResourceNotFound' }]);

  const page = readFileSync(new URL('../../docs/operations/monitoring.md', import.meta.url), 'utf8');
  const described = [...page.matchAll(/^\| `(venue_\w+)`/gm)].map(([, name]) => name);
  const shown = [...text.matchAll(/^# HELP (venue_(?!nodejs_|process_)\w+)/gm)].map(([, name]) => name);
  // Nothing is sealed or backed up yet, and no mail is sent.
  const later = ['venue_last_backup_timestamp_seconds', 'venue_last_seal_timestamp_seconds', 'venue_mail_senders'];
  expect(new Set([...shown, ...later])).toEqual(new Set(described));
});

test('the metrics port answers before the stores are open; values that cannot be read are counted, not shown', async () => {
  const address = { host: '127.0.0.1', port: await freePort() };
  const prometheus = createPrometheus({ version: '1.2.3', generation: '1a2b3c4d' });
  const begin = () => startMonitoringServer({ address, release: '1.2.3', prometheus, logger });
  const server = await begin();
  onTestFinished(() => server.close());
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${address.port}${path}`);
    return [answer.status, await answer.text()] as const;
  };
  expect(await ask('/healthz')).toEqual([200, '{"status":"ok","release":"1.2.3"}']);
  expect(await ask('/readyz')).toEqual([503, '{"status":"starting"}']);
  const [, before] = await ask('/metrics');
  expect(before).toContain(`venue_build_info{version="1.2.3",generation="1a2b3c4d",node="${process.version}"} 1`);

  // A rule on the rate of a counter sees its first count only if its series was there before.
  for (const series of [
    'venue_append_conflicts_total{stream="spaceDay"} 0',
    'venue_sign_ins_total{outcome="too_many_attempts"} 0',
    'venue_commands_total{stream="spaceDay",outcome="SlotUnavailable"} 0',
    'venue_webhook_attempts_total{outcome="Timeout"} 0',
    'venue_credentials_refused_total{reason="api_key"} 0',
    'venue_mails_total{outcome="refused"} 0',
  ])
    expect(before).toContain(`\n${series}\n`);

  const reading = (name: string, read: () => Promise<number | undefined>) => ({ name, help: name, read });
  const readings = [
    reading('venue_read', async () => 7),
    reading('venue_none', async () => undefined),
    reading('venue_unread', () => Promise.reject(new Error('The store is away'))),
  ];
  server.observe({ check: async () => ({ status: 'not ready' }), readings });
  const [, text] = await ask('/metrics');
  expect(text).toContain('\nvenue_read 7\n');
  expect(text).not.toMatch(/^venue_(none|unread)/m);
  expect(text).toContain('venue_scrape_errors_total{metric="venue_unread"} 1\n');

  await expect(begin()).rejects.toThrow(UnusableAddress);
  await expect(begin()).rejects.toThrow(/^METRICS_PORT: .+ is in use by another process/);
});

test('while a store is away, its metric says so instead of missing', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const never = () => new Promise<never>(() => {});
  const check = createReadinessCheck({
    ping: { eventStore: async () => {}, documentStore: never },
    readModels: never,
    // Read after the wait for the stores.
    disk: () => new Promise((resolve) => setTimeout(resolve, 1, undefined)),
  });
  const store = {
    documents: { open: never },
    webhooks: { oldestPendingDelivery: never, countOpenBreakers: never },
    mail: {
      oldestPending: never,
      countPending: never,
      senders: never,
      awaySince: never,
      awayBecause: never,
      countFailedEvents: never,
    },
    audit: { sealedUpTo: never },
  };
  const prometheus = createPrometheus({ version: '1.2.3', generation: '1a2b3c4d' });
  const page = prometheus.exposition(createReadings({ ...store, check, clock: Date.now }));
  await vi.runAllTimersAsync();
  const text = await page;
  expect(text).toContain('\nvenue_ready 0\n');
  expect(text).toContain('\nvenue_store_up{store="documentStore"} 0\n');
  expect(text).toContain('\nvenue_scrape_errors_total{metric="venue_webhook_open_breakers"} 1\n');
});

test('a process is ready on its metrics port only once it takes requests', async () => {
  const [port, metricsPort] = [String(await freePort()), String(await freePort())];
  const settings = { DATA_DIR: await folder(), PORT: port, METRICS_PORT: metricsPort };
  const started = startService(readConfig(settings), logger);
  onTestFinished(async () => (await started).stop());
  const isReady = () =>
    fetch(`http://127.0.0.1:${metricsPort}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  // Without a pause, because the demo data takes a moment to be made.
  while (!(await isReady()));
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
});
