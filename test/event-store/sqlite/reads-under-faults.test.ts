import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { OperatedEventStore } from '../../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../../src/event-store/sqlite/event-store.ts';
import { endlessLogReads, expectWholeOrThrown, fillLog, logReads } from '../../contract/reads-under-faults.ts';
import { sqliteFaults } from '../../sqlite/faults.ts';

describe('reads of the embedded log yield everything or throw under any fault', () => {
  let folder: string;
  let path: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'venue-faults-'));
    path = join(folder, 'events.db');
    const events = await openSqliteEventStore({ path });
    await fillLog(events);
    await events.close();
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function withFaults(
    test: (deps: Parameters<typeof expectWholeOrThrown<OperatedEventStore>>[1]) => Promise<void>,
  ) {
    let events: OperatedEventStore | undefined;
    const faults = sqliteFaults();
    const open = async () => {
      await events?.close();
      events = await openSqliteEventStore({ path, logger: { warn() {} } });
      return events;
    };
    try {
      await test({ open, faults });
    } finally {
      faults.restore();
      await events?.close();
    }
  }

  test.each(Object.entries(logReads))('%s', (_, read) => withFaults((deps) => expectWholeOrThrown(read, deps)));

  test.each(Object.entries(endlessLogReads))('%s continues until it has everything', (_, read) =>
    withFaults((deps) =>
      expectWholeOrThrown(read, { ...deps, faults: { ...deps.faults, arm: (nth) => deps.faults.arm(nth, false) } }),
    ),
  );
});
