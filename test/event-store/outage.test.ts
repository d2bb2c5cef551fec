import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { askLog, watchOutage } from '../../src/event-store/outage.ts';
import { hooks } from '../../src/logger.ts';
import { LogUnavailable, OutcomeUnknown } from '../../src/runtime/unavailable.ts';
import { eventually } from '../eventually.ts';

function watched() {
  const lines: Record<string, unknown>[] = [];
  const logger = pino(
    { level: 'info', hooks, base: null },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  const log = { isDown: false, asked: 0 };
  const closing = new AbortController();
  onTestFinished(() => closing.abort());
  const ping = async () => {
    log.asked += 1;
    if (log.isDown) throw new Error('No route to host');
  };
  const outage = watchOutage(ping, closing.signal, { logger });
  return { lines, logger, log, outage, ping };
}

test('an outage logs one line when it begins and one when it ends, regardless of the number of failures', async () => {
  const { lines, logger, log, outage, ping } = watched();
  log.isDown = true;
  for (let call = 0; call < 10; call += 1) {
    const cause = await askLog({ ping, outage }, 1_000).catch((error: unknown) => error);
    expect(cause).toBeInstanceOf(LogUnavailable);
    logger.error({ err: new OutcomeUnknown('An append', cause) }, 'unavailable');
    await sleep(120);
  }
  log.isDown = false;
  await eventually(() => expect(outage.since()).toBeUndefined());
  logger.error({ err: new Error('Another failure') }, 'unexpected');
  expect(lines).toMatchObject([
    { level: 40, reason: 'No route to host', msg: expect.stringContaining('does not answer') },
    { level: 40, milliseconds: expect.any(Number), msg: 'The event log answers again' },
    { msg: 'unexpected', err: { stack: expect.any(String) } },
  ]);
  expect(lines.slice(0, 2)).not.toContainEqual(expect.objectContaining({ err: expect.anything() }));
});

test('a single probe runs until the log answers, for any number of failed calls; a short outage logs one line', async () => {
  const { lines, log, outage } = watched();
  log.isDown = true;
  for (let call = 0; call < 100; call += 1) outage.suspect(new Error('Connection lost'));
  expect(log.asked).toBe(1);
  log.isDown = false;
  await eventually(() => expect(outage.since()).toBeUndefined());
  expect(log.asked).toBe(2);
  expect(lines).toMatchObject([{ msg: 'The event log did not answer for a moment', reason: 'No route to host' }]);
});
