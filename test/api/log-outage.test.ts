import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { test as base, expect, vi } from 'vitest';
import { hooks } from '../../src/logger.ts';
import { createOwnLog } from '../event-store/eventstoredb/own-log.ts';
import { eventually } from '../eventually.ts';
import { startProxyTo } from '../proxy.ts';
import { type RunningService, runService } from '../running-service.fixture.ts';

/** A service whose EventStoreDB (from `EVENTSTORE_URL`, or a test server) can be disconnected. */
const test = base.extend<{
  venue: {
    readonly service: RunningService;
    readonly lines: readonly { readonly msg: string }[];
    leave(): void;
    comeBack(): void;
  };
}>({
  venue: async ({ onTestFinished }, use) => {
    const log = await createOwnLog({ forProxy: true });
    let isDown = false;
    const proxy = await startProxyTo(log.settings.EVENTSTORE_URL, (passing) => passing === 'connection' && isDown);
    const lines: { msg: string }[] = [];
    const logger = pino({ level: 'warn', hooks }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const SECRET_KEY = randomBytes(32).toString('base64');
    const service = await runService({ ...log.settings, EVENTSTORE_URL: proxy.url, SECRET_KEY }, logger);
    onTestFinished(async () => {
      await service.stop();
      proxy.close();
      await log.stop();
    });
    await use({
      service,
      lines,
      leave() {
        isDown = true;
        proxy.cut();
      },
      comeBack() {
        isDown = false;
      },
    });
  },
});

test('while the log is unavailable, reads continue without querying it, even with new keys', async ({ venue }) => {
  const { service, lines } = venue;
  const community = await service.community();
  const { key: seen, account } = await service.brand();
  const unseen = await service.key(account);
  const spaceId = await service.space(community);
  const get = async (key: string) => (await service.get('/bookings', { key })).statusCode;
  expect(await get(seen)).toBe(200);

  venue.leave();
  await eventually(() => expect(service.core.events.outage.since()).toBeDefined());
  const asked = vi.spyOn(service.core.events, 'readStream');
  for (let n = 0; n < 3; n += 1) {
    for (const key of [seen, unseen, community.key]) expect(await get(key)).toBe(200);
    // The cached check of the key expires.
    await sleep(1_050);
  }
  expect(asked).not.toHaveBeenCalled();
  expect((await service.call('GET', '/readyz')).json()).toMatchObject({ eventStore: 'unreachable' });

  const body = { spaceId, startTime: '2026-12-10', startHour: 10 };
  const waiting = service.post('/bookings', { key: unseen, body });
  venue.comeBack();
  expect((await waiting).statusCode).toBe(201);
  await eventually(() => expect(service.core.events.outage.since()).toBeUndefined());
  // On a busy machine, the process may miss the time to renew a lease as well.
  const ofLog = lines.filter(({ msg }) => String(msg).startsWith('The event log'));
  expect(ofLog).toMatchObject([
    { msg: expect.stringContaining('does not answer'), reason: expect.any(String) },
    { msg: 'The event log answers again', milliseconds: expect.any(Number) },
  ]);
  expect(JSON.stringify(lines)).not.toContain('stack');
});
