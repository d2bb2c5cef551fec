import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { type Core, openCore } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { isRefusal, type Refusal } from '../../src/domain/decision.ts';
import type { BookingEvent, DomainEvent } from '../../src/domain/events.ts';
import { type BrandId, bookingId, cents, type PlainDate, type SpaceId } from '../../src/domain/ids.ts';
import type { Space } from '../../src/domain/space.ts';
import {
  approveBooking,
  completeBooking,
  EMPTY_SPACE_DAY,
  evolveSpaceDay,
  requestBooking,
  type SpaceDay,
} from '../../src/domain/space-day.ts';
import { streamOf } from '../../src/domain/streams.ts';
import { startRoleThread } from '../../src/role-threads.ts';
import type { Environment } from '../service/node-process.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'bench' }, correlationId: 'bench' } as const;
export const DAY_MS = 24 * 3_600_000;
/** Hourly slots per day of a space in the bench. */
export const SLOTS_PER_DAY = 23;

/** A data folder with one community (in a zone without clock changes), spaces open by the hour, a brand and its key. */
export type Venue = {
  readonly dataDir: string;
  readonly key: string;
  readonly brandId: BrandId;
  readonly spaceIds: readonly SpaceId[];
  readonly remove: () => Promise<void>;
};

/** @param env of the service, besides its folder */
export async function makeVenue(spaces = 4, env: Environment = {}): Promise<Venue> {
  const dataDir = await mkdtemp(join(tmpdir(), 'venue-bench-'));
  const make = async ({ commands }: Core): Promise<Venue> => {
    const { catalogue, apiKeys } = commands;
    const { communityId } = done(await catalogue.addCommunity({ name: 'Bench', timeZone: 'Asia/Tokyo' }, CONTEXT));
    const terms = { windowStart: 0, windowEnd: 23, durationHours: 1, eventFee: cents(420_00), answerHours: 72 };
    const spaceIds: SpaceId[] = [];
    for (let i = 0; i < spaces; i += 1)
      spaceIds.push(done(await catalogue.addSpace({ ...terms, name: `Hall ${i}`, communityId }, CONTEXT)));
    const { brandId } = done(await catalogue.addBrand({ name: 'Bench' }, CONTEXT));
    const account = { kind: 'Brand', id: brandId } as const;
    const { key } = done(await apiKeys.issue({ account, permissions: 31, label: 'Bench' }, CONTEXT));
    return { dataDir, key, brandId, spaceIds, remove: () => rm(dataDir, { recursive: true, force: true }) };
  };
  return withCore(dataDir, make, env);
}

/**
 * Runs `work` with the core of the service in this process.
 * @param projecting who keeps the read models up to date: this thread, one beside it, or another process
 */
export async function withCore<T>(
  dataDir: string,
  work: (core: Core) => Promise<T>,
  env: Environment = {},
  projecting: 'here' | 'in a thread' | 'elsewhere' = 'here',
): Promise<T> {
  const config = readConfig({ DATA_DIR: dataDir, DEMO: 'false', ...env });
  const logger = pino({ level: 'silent' });
  const inThread = projecting === 'in a thread';
  const news = 'bench';
  const core = await openCore(config, logger, inThread ? { inThread, news } : {});
  const thread = inThread ? startRoleThread(config, logger, new Set(['projector']), news) : undefined;
  if (projecting === 'here') core.projector.start();
  await thread?.projecting;
  await core.projector.readable(10_000);
  try {
    return await work(core);
  } finally {
    await thread?.stop();
    await core.projector.stop();
    await core.close();
  }
}

/** The date this many days from now, in UTC. */
export const dateIn = (days: number): PlainDate =>
  new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10) as PlainDate;

/** Appends bookings directly to the log, a full space-day at a time, from so many days on. */
export async function appendBookings(
  { events }: Core,
  venue: Venue,
  space: Space,
  count: number,
  firstDay = 2,
): Promise<void> {
  const context = { now: Date.now(), serviceFeePercent: 15, currency: 'USD' };
  const brand = { brandId: venue.brandId, name: 'Bench' };
  let id = 1_000_000;
  let appends: Promise<unknown>[] = [];
  for (let day = 0; day * SLOTS_PER_DAY < count; day += 1) {
    const date = dateIn(day + firstDay);
    const records = [];
    let state = EMPTY_SPACE_DAY;
    for (let startHour = 0; startHour < Math.min(SLOTS_PER_DAY, count - day * SLOTS_PER_DAY); startHour += 1) {
      const decision = done(
        requestBooking(
          state,
          { bookingId: bookingId(id++), space, brand, details: { spaceId: space.spaceId, date, startHour } },
          context,
        ),
      );
      records.push(...decision.map(recorded));
      state = decision.reduce(evolveSpaceDay, state);
    }
    appends.push(events.append(streamOf.spaceDay(space.spaceId, date), records, { expectedRevision: 'none' }));
    if (appends.length < 100) continue;
    await Promise.all(appends);
    appends = [];
  }
  await Promise.all(appends);
}

/** Days between a request and its approval, and between that and its completion, in {@link appendAnswered}. */
const ANSWERED_AFTER = 20;
const COMPLETED_AFTER = 60;

/** Appends bookings that were requested, approved and completed, each some time after the other. */
export async function appendAnswered({ events }: Core, venue: Venue, space: Space, bookings: number): Promise<void> {
  const context = { now: Date.now(), serviceFeePercent: 15, currency: 'USD' };
  const over = { now: Date.now() + 400 * 365 * DAY_MS };
  const brand = { brandId: venue.brandId, name: 'Bench' };
  const days: { date: PlainDate; state: SpaceDay; revision: number }[] = [];
  const append = async (at: number, decide: (state: SpaceDay, hour: number) => readonly BookingEvent[]) => {
    const day = days[at];
    if (day === undefined) return;
    const records = [];
    for (let hour = 0; hour < SLOTS_PER_DAY; hour += 1) {
      const decision = decide(day.state, hour);
      records.push(...decision.map(recorded));
      day.state = decision.reduce(evolveSpaceDay, day.state);
    }
    const expectedRevision = day.revision < 0 ? 'none' : day.revision;
    day.revision += records.length;
    await events.append(streamOf.spaceDay(space.spaceId, day.date), records, { expectedRevision });
  };
  const idOf = (day: number, hour: number) => bookingId(1_000_000 + day * SLOTS_PER_DAY + hour);
  const count = Math.ceil(bookings / SLOTS_PER_DAY);
  for (let day = 0; day < count + COMPLETED_AFTER; day += 1) {
    if (day < count) days.push({ date: dateIn(day + 2), state: EMPTY_SPACE_DAY, revision: -1 });
    await Promise.all([
      append(day, (state, startHour) => {
        const details = { spaceId: space.spaceId, date: dateIn(day + 2), startHour };
        return done(requestBooking(state, { bookingId: idOf(day, startHour), space, brand, details }, context));
      }),
      append(day - ANSWERED_AFTER, (state, hour) => {
        const command = { bookingId: idOf(day - ANSWERED_AFTER, hour), communityId: space.communityId };
        return done(approveBooking(state, command, context));
      }),
      append(day - COMPLETED_AFTER, (state, hour) =>
        done(completeBooking(state, { bookingId: idOf(day - COMPLETED_AFTER, hour) }, over)),
      ),
    ]);
  }
}

/** An event as a command appends it. */
export function recorded<E extends DomainEvent>({ type, data }: E) {
  const metadata = { at: new Date().toISOString(), ...CONTEXT, schema: 1 };
  return { type, data, metadata };
}

/** A refusal fails the bench, because it would measure the wrong thing. */
export function done<T>(outcome: T | Refusal): T {
  if (isRefusal(outcome)) throw new Error(`${outcome.refused}: ${outcome.details}`);
  return outcome;
}
