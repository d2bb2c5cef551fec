import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryDataDir } from '../service/service-process.ts';
import { inProcess, json, useDataDir } from './in-process.ts';

test('check reports a changed clock, and accept makes it trusted', async () => {
  useDataDir(temporaryDataDir());
  expect(await json('clock', 'check')).toEqual({ believed: true });
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3 * 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
  const checked = await inProcess('clock', 'check');
  expect(checked).toMatchObject({
    code: 1,
    stdout:
      'The clock of this machine was set forward by 3 hours while the machine was running. If it is right now, run: venue clock accept.\n',
    stderr: 'ClockNotBelieved: Requests do not expire and bookings are not completed\n',
  });
  expect(await json('clock', 'accept')).toEqual({ accepted: true });
  expect(await json('clock', 'check')).toEqual({ believed: true });
});
