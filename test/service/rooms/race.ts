import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { expect } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { openCore } from '../../../src/core.ts';
import { isUnavailable } from '../../../src/runtime/unavailable.ts';
import { violationsIn } from '../../linearizability/check.ts';
import { type House, spaceDayOf, termsIn } from '../../linearizability/house.ts';
import { playHistory, type Scene } from '../../linearizability/play.ts';
import { openScene } from '../../linearizability/scene.ts';
import { spaceDays } from '../../linearizability/space-day.ts';
import { jpeg } from '../../photos/pictures.ts';
import { recordProof } from '../../proof/proof.ts';
import { createRandom } from '../../soak/random.ts';
import type { Environment } from '../node-process.ts';
import { backUpAndRestore } from './backups.ts';
import { type Change, isAcknowledged } from './change.ts';
import { colourOf, nameOf, RoomClient, type Rooms } from './room-client.ts';
import { leftAfterRemovals, onStore, problemsIn } from './store-check.ts';

/** On a pair of engines. */
const SECONDS = Number(process.env.ROOM_RACE_SECONDS ?? 6);
const SEED = Number(process.env.ROOM_RACE_SEED ?? 1 + Math.floor(Math.random() * 2 ** 31));
const PROCESSES = 8;
const CLIENTS = 10;
/** Photos that are stored when the race begins, and that no list names. */
const FILES = 24;
/** How long eight processes take to start. */
const STARTS_WITHIN_MS = 8_000;
const HOUR_MS = 3_600_000;
/** Histories of bookings: more than one run plays. */
const SPACE_DAYS = 5_000;

/** Clients describe rooms, change photos and book through eight processes that are killed, while the store is backed up. */
export async function race(engines: string, servers: Environment): Promise<void> {
  const random = createRandom(SEED);
  const files = await Promise.all(
    Array.from({ length: FILES }, (_, index) => jpeg(colourOf(index * 500_009), 200, 150)),
  );
  const { house, fleet, scene, settings } = await openScene(
    { ...servers, PHOTO_BYTES_PER_COMMUNITY: '1000000000' },
    { processes: PROCESSES, spaceDays: SPACE_DAYS, prepare: (of) => storeUnnamed(of, files) },
  );
  const { members, community } = scene;
  const places = ['house', ...house.spaces.slice(0, 3).map(({ id }) => id)] as const;
  const rooms: Rooms = {
    members,
    community,
    places,
    files,
    changes: new Set<Change>(),
    broken: [],
    photosSeen: 0,
    nextMark: 0,
  };
  const until = performance.now() + SECONDS * 1_000;
  const isOver = () => performance.now() > until || rooms.broken.length > 0;
  const clients = Array.from(
    { length: CLIENTS },
    () => new RoomClient(rooms, createRandom(random.between(1, 2 ** 30))),
  );
  const during = await fleet.disturbDuring(random, async () => {
    const [histories, backups, removed] = await Promise.all([
      book({ house, scene }, isOver),
      backUpAndRestore(settings, rooms, createRandom(SEED + 1), isOver),
      removeAllTheTime(settings, isOver),
      ...clients.map((client) => client.run(isOver)),
    ]);
    return { histories, backups, removed };
  });
  await fleet.settle();
  expect([...rooms.broken, ...fleet.broken], `Seed ${SEED}`).toEqual([]);
  await fleet.stop();
  expect(await problemsIn(settings, [...rooms.changes]), `Seed ${SEED}`).toEqual([]);
  expect(await leftAfterRemovals(settings), `Seed ${SEED}`).toEqual([]);
  expect(await problemsIn(settings, [...rooms.changes]), `Seed ${SEED}`).toEqual([]);
  record(engines, { rooms, faults: fleet.faults.length, ...during });
}

/** Stores photos as uploads did three hours ago. Removals find one after another due to be taken away while the race lasts. */
async function storeUnnamed(settings: Environment, files: readonly Buffer[]): Promise<void> {
  const began = Date.now();
  let now = began - 3 * HOUR_MS;
  await onStore(
    settings,
    async ({ photos }) => {
      for (const bytes of files) await photos.take(bytes, 'Community:1', async () => undefined);
      const unnamed = new Set<string>();
      for (const [index, bytes] of files.entries()) {
        now = began - HOUR_MS + STARTS_WITHIN_MS + (index * SECONDS * 1_000) / files.length;
        unnamed.add(nameOf(bytes));
        await photos.removeUnnamed((photo) => !unnamed.has(photo));
      }
    },
    () => now,
  );
}

/** Removes unnamed photos all the time, instead of every ten minutes. */
async function removeAllTheTime(settings: Environment, isOver: () => boolean): Promise<number> {
  const core = await openCore(readConfig(settings), pino({ level: 'silent' }));
  let removed = 0;
  try {
    while (!isOver()) {
      removed += await core.commands.photos.removeUnnamed().catch(noneIfUnavailable);
      await delay(200);
    }
  } finally {
    await core.close();
  }
  return removed;
}

/** On a busy machine a server may not answer in time, and the next removal comes soon. */
function noneIfUnavailable(error: unknown): number {
  if (isUnavailable(error)) return 0;
  throw error;
}

/** Plays histories of bookings on one space-day after another. @returns how many */
async function book({ house, scene }: { readonly house: House; readonly scene: Scene }, isOver: () => boolean) {
  const rules = spaceDays((spaceDay) => termsIn(house, spaceDay));
  let played = 0;
  for (; !isOver() && played < SPACE_DAYS; played += 1) {
    const { operations } = await playHistory(scene, spaceDayOf(house, played), SEED + played);
    expect(violationsIn(rules, operations), `Seed ${SEED}, history ${played}`).toEqual([]);
  }
  return played;
}

type Outcome = {
  readonly rooms: Rooms;
  readonly faults: number;
  readonly histories: number;
  readonly backups: { readonly restored: number; readonly killed: number };
  readonly removed: number;
};

function record(engines: string, { rooms, faults, histories, backups, removed }: Outcome): void {
  const acknowledged = [...rooms.changes].filter(isAcknowledged).length;
  const tried = [
    `${acknowledged} changes of rooms`,
    `${rooms.photosSeen} looks at photos`,
    `${removed} removals`,
    `${histories} histories of bookings`,
    `${backups.restored} backups restored, ${backups.killed} of them interrupted`,
    `${faults} faults`,
  ].join(', ');
  console.log(`${engines}: ${tried}, seed ${SEED}`);
  recordProof({
    search: `Rooms, photos, bookings and backups on ${engines}: \`npm run test:system -- test/service/rooms\``,
    promise: 'no acknowledged change is lost, in the store or a backup, and every photo that a list names is there',
    tried,
    seed: SEED,
  });
}
