import { join } from 'node:path';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { purposes } from '../../src/secrets/purposes.ts';
import { seal } from '../../src/secrets/seal.ts';
import { ensureLogId } from '../../src/store-identity/log-id.ts';
import { STORE_FORMAT } from '../../src/store-identity/store-format.ts';
import { FORMAT } from '../../src/transfer/format.ts';
import { openMailVenue } from '../mail/mail-venue.ts';
import { emptyStore, exportTo, importFrom, KEY, restoreFrom, temporaryFolder } from '../transfer/stores.ts';
import { allRecorded, logEngines, openHouse, startProcess, stopProcess } from './house.ts';
import { mortalStores } from './mortal-stores.ts';

/** How often each case is tried. For docs/promises.md: OUTBOX_RUNS=20. */
const RUNS = Number(process.env.OUTBOX_RUNS ?? 2);

/** What happens around a restart, at random, the same in every run of the tests. */
const histories = fc.sample(
  fc.record({
    handled: fc.stringMatching(/^[rao]{0,4}$/),
    before: fc.stringMatching(/^[rao]{0,8}[ra]o$/),
    after: fc.stringMatching(/^[rao]{0,6}$/),
  }),
  { numRuns: RUNS, seed: 51 },
);

describe.each(logEngines)('no event is left without its records: %s', (_, startLog) => {
  test('when no process fans out while the log restarts or elects', { timeout: 120_000 }, async () => {
    const log = await startLog();
    const house = await openHouse(log);
    for (const { handled, before, after } of histories) {
      const first = await startProcess(house.venue);
      await house.append(handled);
      await allRecorded(first, house);
      await stopProcess(first);
      await house.append(before);
      log.restart();
      await house.append(after);
      const next = await startProcess(house.venue);
      await allRecorded(next, house);
      await stopProcess(next);
    }
  });

  test('when log and process lose power right after an append', { timeout: 120_000 }, async () => {
    const log = await startLog();
    const house = await openHouse(log);
    for (const { before, after } of histories) {
      const stores = mortalStores(house.venue, 'killed');
      const first = await startProcess(house.venue, stores);
      await house.append(before);
      stores.kill();
      await house.venue.silence(first);
      await stopProcess(first).catch(() => {});
      // The log is the last to lose power.
      await house.append('o');
      log.restart();
      await house.append(after);
      const next = await startProcess(house.venue);
      await allRecorded(next, house);
      await stopProcess(next);
    }
  });

  test('when a process freezes in its groups, and another takes its roles', { timeout: 120_000 }, async () => {
    const log = await startLog();
    const house = await openHouse(log);
    const frozen: ReturnType<typeof mortalStores>[] = [];
    for (const { before, after } of histories) {
      const stores = mortalStores(house.venue, 'frozen');
      frozen.push(stores);
      const first = await startProcess(house.venue, stores);
      await house.append(before);
      stores.kill();
      await house.venue.silence(first);
      const next = await startProcess(house.venue);
      await house.append(after);
      await allRecorded(next, house);
      await stopProcess(next);
    }
    for (const stores of frozen) stores.bury();
  });

  test.each(['keep', 'move'] as const)(
    'when it waited at a backup or an export: %s',
    { timeout: 120_000 },
    async (purpose) => {
      for (const { handled, before } of histories) {
        const log = await startLog();
        const house = await openHouse(log);
        const { venue } = house;
        const first = await startProcess(venue);
        await house.append(handled);
        await allRecorded(first, house);
        await stopProcess(first);
        await house.append(before);
        const file = join(await temporaryFolder(), 'copy.ndjson');
        const logId = await ensureLogId(venue.events, Date.now);
        const probe = seal(KEY, purposes.storeProbe(logId), logId);
        await exportTo(file, venue, { format: FORMAT, storeFormat: STORE_FORMAT, logId, probe, purpose });
        const folder = await temporaryFolder();
        const copy = await emptyStore(folder);
        await (purpose === 'keep' ? restoreFrom : importFrom)(file, copy);
        const other = await openMailVenue({ url: 'smtp://127.0.0.1:9', folder });
        const next = await startProcess(other);
        await allRecorded(next, house);
        await stopProcess(next);
        await other.close();
      }
    },
  );
});
