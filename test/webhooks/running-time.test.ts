import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRunningTime, type RunningTime } from '../../src/webhooks/running-time.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { eventually } from '../eventually.ts';

const DAY_MS = 24 * 3_600_000;

describe.each(documentEngines)('running time on %s', (_, createDatabase) => {
  let monotonic: number;
  let database: TestDatabase;
  const opened: RunningTime[] = [];
  beforeEach(async () => {
    monotonic = 1_000;
    database = await createDatabase();
  });
  afterEach(async () => {
    for (const time of opened.splice(0)) await time.stop();
    await database.remove();
  });

  /** The running time in another process. */
  async function start(tickMs = 1): Promise<RunningTime> {
    const time = await openRunningTime({
      documents: await database.open(),
      logger: { error: () => {} },
      monotonic: () => monotonic,
      tickMs,
    });
    await time.start();
    opened.push(time);
    return time;
  }
  const until = (time: RunningTime, ms: number) => eventually(() => expect(time.now()).toBe(ms));

  test('continues after a restart where it stopped, excluding downtime', async () => {
    const first = await start();
    monotonic += 7_000;
    expect(first.now()).toBe(7_000);
    await first.stop();
    monotonic += 6 * DAY_MS;
    const second = await start();
    expect(second.now()).toBe(7_000);
    monotonic += 1_000;
    expect(second.now()).toBe(8_000);
  });

  test('excludes the time in which the process was frozen', async () => {
    const time = await start();
    monotonic += 6 * DAY_MS;
    expect(time.now()).toBeLessThanOrEqual(30_000);
  });

  test('counts the time of concurrent processes once', async () => {
    const [one, other] = [await start(), await start()];
    for (let i = 1; i <= 5; i++) {
      monotonic += 2_000;
      await until(one, i * 2_000);
      await until(other, i * 2_000);
    }
    await Promise.all([one.stop(), other.stop()]);
    expect((await start()).now()).toBe(10_000);
  });
});
