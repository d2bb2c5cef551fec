import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { hooks } from '../src/logger.ts';

test('lines about requests that fail in the same way are limited, and counted', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const lines: { readonly msg: string; readonly lines?: number }[] = [];
  const logger = pino({ level: 'info', hooks }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const fail = (times: number, message: string) => {
    for (let i = 0; i < times; i += 1) logger.warn({ err: new Error('No'), reqId: `r-${i}` }, message);
  };
  fail(1_000, 'unavailable');
  fail(3, 'not ready');
  for (let i = 0; i < 30; i += 1) logger.warn({ err: new Error('No') }, 'a job failed');
  const counted = () => Object.entries(Object.groupBy(lines, ({ msg }) => msg)).map(([msg, of]) => [msg, of?.length]);
  expect(counted()).toEqual([
    ['unavailable', 20],
    ['not ready', 3],
    ['a job failed', 30],
  ]);

  vi.advanceTimersByTime(10_000);
  expect(lines.at(-1)).toMatchObject({ msg: 'unavailable: more lines about requests were left out', lines: 980 });
  fail(1, 'unavailable');
  expect(lines.at(-1)).toMatchObject({ msg: 'unavailable', reqId: 'r-0' });
});
