import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryDataDir } from '../service/service-process.ts';
import { inProcess, json, useDataDir } from './in-process.ts';

test('check reports a clock behind the last event', async () => {
  useDataDir(temporaryDataDir());
  expect(await json('clock', 'check')).toEqual({ believed: true });
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3 * 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(await inProcess('clock', 'check')).toMatchObject({
    code: 1,
    stdout: 'believed  no\nproblem   The clock of this machine is 3 hours behind the last event in the log\n',
    stderr: 'ClockNotBelieved: Requests do not expire and bookings are not completed\n',
  });
});
