import { describe, test } from 'vitest';
import { eventStoreContract } from '../contract/event-store.ts';
import {
  countedFaults,
  endlessLogReads,
  expectWholeOrThrown,
  fillLog,
  logReads,
} from '../contract/reads-under-faults.ts';
import { newEventsDisk, openMemoryEvents } from './memory-events.ts';

eventStoreContract('memory', async () => {
  const disk = newEventsDisk();
  return { open: async () => openMemoryEvents(disk), stop: async () => {} };
});

describe('reads of a log in memory yield everything or throw under any fault', () => {
  test.each(Object.entries({ ...logReads, ...endlessLogReads }))('%s', async (name, read) => {
    const disk = newEventsDisk();
    await fillLog(openMemoryEvents(disk));
    const { faults, fails } = countedFaults();
    const before = () => {
      if (fails()) throw new Error('The store does not answer');
    };
    const open = async () => openMemoryEvents(disk, { watch: { before } });
    // What never ends would wait for the end of a lasting fault.
    const arm = name in endlessLogReads ? (nth: number) => faults.arm(nth, false) : faults.arm;
    await expectWholeOrThrown(read, { open, faults: { ...faults, arm } });
  });
});
