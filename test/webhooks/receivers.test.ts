import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openReceivers } from '../../src/webhooks/receivers.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';

const HOUR_MS = 3_600_000;

describe.each(documentEngines)('receivers on %s', (_, createDatabase) => {
  let now: number;
  let database: TestDatabase;
  beforeEach(async () => {
    now = Date.parse('2026-04-20T10:00:00Z');
    database = await createDatabase();
  });
  afterEach(() => database.remove());

  /** The receiver of a registration as another process sees it. */
  const receiver = async (webhookId = 'wh_a') =>
    (await openReceivers({ documents: await database.open(), clock: () => now })).open(webhookId);

  test('the start of the failures carries over from one process to the next, until something succeeds', async () => {
    const since = now;
    expect(await (await receiver()).failed()).toBe(since);
    now += HOUR_MS;
    const second = await receiver();
    expect(await second.failed()).toBe(since);
    await second.succeeded();
    now += HOUR_MS;
    expect(await second.failed()).toBe(now);
    expect(await (await receiver('wh_b')).failed()).toBe(now);
  });

  test('of concurrent failures the first counts, whoever records it', async () => {
    const since = now;
    const [one, other] = [await receiver(), await receiver()];
    expect(await Promise.all([one.failed(), one.failed()])).toEqual([since, since]);
    now += HOUR_MS;
    expect(await other.failed()).toBe(since);
    await Promise.all([one.succeeded(), one.succeeded()]);
    expect(await (await receiver()).failed()).toBe(now);
  });
});
