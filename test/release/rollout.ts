import { randomUUIDv7 } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inDays } from '../in-days.ts';
import type { NodeProcess } from '../service/node-process.ts';
import { createFleet } from '../soak/fleet.ts';
import { countDeliveries, deliveryOf, lost, notInLog, notVerified, register, undelivered } from '../soak/invariants.ts';
import { type Load, startLoad } from '../soak/load.ts';
import { type Market, openMarket } from '../soak/market.ts';
import { createRandom, type Random } from '../soak/random.ts';
import { EVERYTHING, keep, leave, type Outcome } from '../soak/round.ts';
import type { Store } from '../soak/store.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { earlierRelease, NEXT_KIND, NEXT_KIND_VALUE, nextRelease } from './releases.ts';

/**
 * Rolls a release out and back under load, with kills and a freeze: processes of two releases on one store. No acknowledged write
 * is lost, nothing exists twice, and a process that reports ready answers correctly.
 * @param options.phaseMs how long each of the phases lasts, about
 * @param options.restMs how long each load worker rests after a booking
 * @param options.progress gets a line for each phase
 */
export async function rollOutAndBack(options: {
  readonly store: Store;
  readonly phaseMs: number;
  readonly restMs?: number;
  readonly random?: Random;
  readonly progress?: (line: string) => void;
}): Promise<Outcome> {
  const { store, phaseMs, restMs = 0, random = createRandom(1), progress = () => {} } = options;
  const folder = await mkdtemp(join(tmpdir(), 'venue-release-'));
  const earlier = earlierRelease(join(folder, 'earlier'));
  const next = nextRelease(join(folder, 'next'));
  const receiver = await startReceiver();
  const fleet = createFleet(store);
  const broken: string[] = [];
  /** About as long as a phase. */
  const phase = () => delay(random.between(Math.round(phaseMs / 2), Math.round((phaseMs * 3) / 2)));
  let load: Load | undefined;

  try {
    const market = await openMarket(store, earlier);
    const house = await openHouse(store, market, earlier);
    progress('the earlier release serves');
    const [a, b] = [await fleet.start({ release: earlier }), await fleet.start({ release: earlier })];
    await register(a, market.brandKey, receiver, { name: 'brand', events: EVERYTHING });
    load = startLoad({ ...fleet, market, random, restMs });
    await phase();

    progress('the next release joins; a process of the earlier one is killed');
    const c = await fleet.start({ release: next });
    await fleet.end(a, 'SIGKILL');
    // Subscribed to an event type that only the next release knows.
    const events = EVERYTHING + NEXT_KIND_VALUE;
    await register(c, market.communityKey, receiver, { name: 'community', events });
    const surveys = await appendSurveys(store, market);
    await house.close();
    await phase();

    progress('the next release takes over; one of its processes is frozen');
    const d = await fleet.start({ release: next });
    await fleet.end(b, 'SIGTERM');
    await fleet.freeze(c, random.between(2_000, 6_000), true);

    progress('the release is rolled back');
    const e = await fleet.start({ release: earlier });
    await fleet.end(d, 'SIGKILL');
    await phase();
    const f = await fleet.start({ release: earlier });
    await fleet.end(c, 'SIGTERM');
    progress('the earlier release serves alone again');
    broken.push(...(await house.wronglyOpen([e, f])));
    await house.reopen();
    await phase();

    progress('and the next one comes back, to deliver what only it knows');
    const g = await fleet.start({ release: next });
    await load.stop();
    broken.push(...load.broken);

    progress('checking what is left');
    const { acknowledged } = load;
    broken.push(...(await house.wronglyOpen([e, f, g])));
    broken.push(...(await notVerified(store, [earlier, next])));
    broken.push(...(await notInLog(store, market.brandId, acknowledged)));
    for (const process of [e, f, g]) broken.push(...(await lost(process, market.brandKey, acknowledged)));
    broken.push(
      ...(await undelivered(
        [receiver],
        [
          ...acknowledged.map(({ bookingId }) => deliveryOf('brand', 'BookingRequested', bookingId)),
          ...surveys.map((id) => deliveryOf('community', NEXT_KIND, id)),
        ],
      )),
    );
    if (store.isShared) await leave(store, market);
  } catch (error) {
    await load?.stop().catch(() => {});
    broken.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  const printed = await fleet.stop();
  broken.push(...fleet.broken);
  if (broken.length > 0) await keep(store, printed, broken);
  await receiver.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  return {
    acknowledged: load?.acknowledged.length ?? 0,
    moved: 0,
    ...countDeliveries([receiver]),
    stale: load?.stale() ?? 0,
    killed: fleet.killed(),
    broken,
  };
}

const [CLOSED, REOPENED] = [inDays(30), inDays(40)];

/**
 * A space of its own with two closed days, as a process of the next release closes them.
 * @returns `reopen`: opens one of them; `wronglyOpen`: the days on which a process answers a request otherwise than it must
 */
async function openHouse(store: Store, { communityId }: Market, release: string) {
  const terms = ['--name', 'House', '--window', '0-23', '--duration', '1', '--fee', '42'];
  const venue = async (...args: readonly string[]) => JSON.parse((await store.venue(args, release)).stdout);
  const { id: spaceId } = await venue('space', 'add', '--community', String(communityId), ...terms);
  const { id: brandId } = await venue('brand', 'add', '--name', 'Of the house');
  const { key } = await venue('api-key', 'issue', '--brand', String(brandId));
  let isOpen = false;
  let hour = 0;

  const append = (date: string, type: 'TimeClosed' | 'TimeReopened', expectedRevision: 'none' | 0) =>
    store.onLog(async (events) => {
      const closureId = `closure-${date}`;
      const hours = type === 'TimeClosed' ? { kind: 'Closure', start: 0, until: 24 } : {};
      const data = { spaceId, communityId, date, closureId, ...hours };
      const actor = { kind: 'system', id: 'house' };
      const metadata = { at: new Date().toISOString(), actor, correlationId: closureId, schema: 1 };
      await events.append(`spaceDay-${spaceId}-${date}`, [{ type, data, metadata }], { expectedRevision });
    });

  async function statusOf({ url }: NodeProcess, startTime: string): Promise<number> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    // Each request is for an hour of its own, which no other booking holds.
    const body = JSON.stringify({ spaceId, startTime, startHour: hour++ });
    return (await fetch(`${url}/api/v1/bookings`, { method: 'POST', headers, body })).status;
  }

  return {
    async close(): Promise<void> {
      for (const date of [CLOSED, REOPENED]) await append(date, 'TimeClosed', 'none');
    },
    async reopen(): Promise<void> {
      await append(REOPENED, 'TimeReopened', 0);
      isOpen = true;
    },
    async wronglyOpen(processes: readonly NodeProcess[]): Promise<string[]> {
      const broken: string[] = [];
      for (const process of processes)
        for (const [date, expected] of [
          [CLOSED, 422],
          [REOPENED, isOpen ? 201 : 422],
        ] as const) {
          const status = await statusOf(process, date);
          if (status !== expected)
            broken.push(`${process.root} answered ${status} to a request for ${date}, not ${expected}`);
        }
      return broken;
    },
  };
}

/** Events of the next release that the earlier one does not know, in their own streams. @returns their ids */
async function appendSurveys(store: Store, { communityId, brandId }: Market): Promise<string[]> {
  const ids = Array.from({ length: 20 }, () => randomUUIDv7());
  await store.onLog(async (events) => {
    for (const id of ids) {
      const metadata = {
        at: new Date().toISOString(),
        actor: { kind: 'system', id: 'survey' },
        correlationId: id,
        schema: 1,
      };
      const data = { communityId, brandId, survey: id };
      await events.append(`venue_survey-${id}`, [{ id, type: NEXT_KIND, data, metadata }], {
        expectedRevision: 'none',
      });
    }
  });
  return ids;
}
