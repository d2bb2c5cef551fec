import { describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { allRecorded, type House, logEngines, openHouse, startProcess, stopProcess } from './house.ts';
import { type Death, mortalStores } from './mortal-stores.ts';

/** Every call would take several minutes; with EVERY_CALL, each is tried. */
const STEP = process.env.EVERY_CALL === undefined ? 7 : 1;

// On stores in memory, test/simulation/every-await.test.ts tries it at every call.
describe.each(logEngines.slice(1, 2))(
  'a process that dies at any call between an append and its records: %s',
  (_, startLog) => {
    const KINDS = 'rao';

    /** @returns the calls that the process made */
    async function dieAt(house: House, death: Death, diesAt?: { readonly call: number; readonly done: boolean }) {
      const stores = mortalStores(house.venue, death, diesAt && { diesAt });
      const first = await startProcess(house.venue, stores);
      stores.count();
      await house.append(KINDS);
      if (diesAt === undefined) {
        await allRecorded(first, house);
        // The marks are stored once a second.
        await eventually(() => expect(stores.calls()).toContain('lastEvent'));
      } else await eventually(() => expect(stores.isDead()).toBe(true));
      stores.kill();
      await house.venue.silence(first);
      const ended = death === 'killed' ? stopProcess(first).catch(() => {}) : undefined;
      const next = await startProcess(house.venue);
      await allRecorded(next, house);
      await Promise.all([ended, stopProcess(next)]);
      stores.bury();
      return stores.calls();
    }

    test.each(['killed', 'frozen'] as const)('%s, it loses nothing', { timeout: 240_000 }, async (death) => {
      const house = await openHouse(await startLog());
      const calls = await dieAt(house, death);
      expect(calls).toEqual(expect.arrayContaining(['webhookDeliveries.insert', 'mails.insert', 'lastEvent']));
      for (let call = 1; call <= calls.length; call += STEP)
        for (const done of [false, true]) await dieAt(house, death, { call, done });
    });
  },
);
