import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { enginePairs } from '../engine-pairs.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { call } from './client.ts';
import { startServiceProcess, temporaryDataDir } from './service-process.ts';

test.each(enginePairs)(
  'a process that was frozen shows what has been booked through another, on %s',
  { timeout: 120_000 },
  async (_, open) => {
    const pair = await open();
    onTestFinished(() => pair.stop());
    const dataDir = temporaryDataDir();
    const projecting = await startServiceProcess(dataDir, { ...pair.settings, DEMO: 'true' });
    const other = await startServiceProcess(dataDir, { ...pair.settings, DEMO: 'false' });
    const [brand] = projecting.demo().brands;
    const [community] = projecting.demo().communities;
    const space = community?.spaces[0];
    if (brand === undefined || community === undefined || space === undefined) throw new Error('No demo data');
    const key = brand.apiKey;
    const [day, startHour] = [inDays(40), 14];
    const slots = `/spaces/${space.id}/availability?date=${day}`;
    const list = `/bookings?startDate=${day}&endDate=${day}`;
    const read = (from: typeof other) => Promise.all([slots, list].map((path) => call(from, key, path)));
    /** Whether the slot is taken, and how many bookings the list has. */
    const shown = async (from: typeof other) => {
      const [availability, bookings] = await read(from);
      const slot = availability?.body.timeSlots.find(({ hour }: { readonly hour: number }) => hour === startHour);
      return [slot?.isAvailable, bookings?.body.length];
    };
    // Twice, so that what can be answered from memory is.
    for (const process of [projecting, projecting, other]) expect(await shown(process)).toEqual([true, 0]);

    process.kill(projecting.pid, 'SIGSTOP');
    onTestFinished(() => void process.kill(projecting.pid, 'SIGCONT'));
    const booked = await call(other, key, '/bookings', { spaceId: space.id, startTime: day, startHour });
    expect(booked.status).toBe(201);
    await eventually(async () => expect(await shown(other)).toEqual([false, 1]));

    // The requests wait for it, so that it answers them before it has beaten or read anything.
    const answered = eventually(() => shown(projecting));
    await delay(100);
    process.kill(projecting.pid, 'SIGCONT');
    expect(await answered).toEqual([false, 1]);
  },
);
