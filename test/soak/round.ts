import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeProcess } from '../service/node-process.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { createFleet, type Fleet } from './fleet.ts';
import {
  countDeliveries,
  deliveryOf,
  lost,
  notHeldOnce,
  notInLog,
  notVerified,
  register,
  undelivered,
} from './invariants.ts';
import { type Load, startLoad } from './load.ts';
import { type Market, openMarket } from './market.ts';
import { type Operator, startOperating } from './operator.ts';
import type { Random } from './random.ts';
import { keepLog, type Store } from './store.ts';

export type Outcome = {
  readonly acknowledged: number;
  /** Bookings that moved. */
  readonly moved: number;
  readonly deliveries: number;
  /** Requests that repeated a delivery, with the same `webhook-id`: after an error, or because a process had been killed. */
  readonly repeated: number;
  /** Answers that did not show a booking answered 201 earlier, because the wait of 2 s had run out. */
  readonly stale: number;
  /** Processes that were killed. */
  readonly killed: number;
  /** Violations; empty if every promise held. */
  readonly broken: readonly string[];
};

export type RoundOptions = {
  readonly store: Store;
  readonly random: Random;
  /** The approximate duration of the disturbance. */
  readonly forMs: number;
  /** Receives a line for each action. */
  readonly progress: (line: string) => void;
};

/** A slot in the fleet: its process is replaced when it ends. */
export type Member = { readonly roles: string; process: NodeProcess; busy: boolean };

export type Scene = RoundOptions & {
  readonly market: Market;
  readonly fleet: Fleet;
  readonly members: readonly Member[];
  readonly load: Load;
  /** Records a violation. */
  readonly breaks: (what: string) => void;
  /** Another receiver, closed when the round has ended. */
  readonly receiver: () => Promise<Receiver>;
  /** Other expected deliveries, besides every booking to the round’s own receiver: see `deliveryOf`. */
  readonly expect: (receiver: Receiver, deliveries: () => readonly string[], withinMs: number) => void;
};

export type Plot = {
  /** The roles of each process. */
  readonly processes: readonly string[];
  /** Whether an operator works at the same time. */
  readonly operating?: boolean;
  readonly disturb: (scene: Scene) => Promise<void>;
};

/** All event types that webhooks of every release can subscribe to. */
export const EVERYTHING = 15;
const MOVED = 16;
const OWN = 'brand';

/** Runs processes under load, disturbs them, and checks whether every promise held. */
export async function playRound(
  options: RoundOptions,
  { processes, operating = true, disturb }: Plot,
): Promise<Outcome> {
  const { store, random } = options;
  const fleet = createFleet(store);
  const receivers: Receiver[] = [];
  const broken: string[] = [];
  const expected: { receiver: Receiver; deliveries: () => readonly string[]; withinMs: number }[] = [];
  const receiver = async () => {
    const started = await startReceiver();
    receivers.push(started);
    return started;
  };
  let load: Load | undefined;
  let operator: Operator | undefined;
  try {
    const market = await openMarket(store);
    options.progress(`processes: ${processes.join(' | ')}`);
    // Started together: a process that does not project is ready only once another one projects.
    const members: Member[] = await Promise.all(
      processes.map(async (roles) => ({ roles, process: await fleet.start({ roles }), busy: false })),
    );
    const own = await receiver();
    const [first] = fleet.serving;
    if (first === undefined) throw new Error('No process serves');
    await register(first, market.brandKey, own, { name: OWN, events: EVERYTHING + MOVED });
    load = startLoad({ ...fleet, market, random, moves: true });
    if (operating) operator = startOperating({ ...options, load, breaks: (what) => void broken.push(what) });
    await disturb({
      ...options,
      market,
      fleet,
      members,
      load,
      receiver,
      breaks: (what) => void broken.push(what),
      expect: (of, deliveries, withinMs) => void expected.push({ receiver: of, deliveries, withinMs }),
    });
    const approved = (await operator?.stop()) ?? [];
    await load.stop();
    broken.push(...load.broken);
    await fleet.ready();
    options.progress('checking what is left');
    const { acknowledged } = load;
    broken.push(...(await notVerified(store, [undefined])));
    broken.push(...(await notInLog(store, market.brandId, acknowledged)));
    broken.push(...(await notHeldOnce(store, acknowledged)));
    const moved = movedBy(load);
    const decided = [...approved, ...moved];
    for (const process of fleet.serving) broken.push(...(await lost(process, market.brandKey, acknowledged, decided)));
    const deliveries = [
      ...acknowledged.map(({ bookingId }) => deliveryOf(OWN, 'BookingRequested', bookingId)),
      ...decided.map((bookingId) => deliveryOf(OWN, 'BookingApproved', bookingId)),
      ...moved.map((bookingId) => deliveryOf(OWN, 'BookingMoved', bookingId)),
    ];
    broken.push(...(await undelivered([own], deliveries)));
    for (const { receiver: one, deliveries, withinMs } of expected)
      broken.push(...(await undelivered([one], deliveries(), withinMs)));
    if (store.isShared) await leave(store, market);
  } catch (error) {
    await Promise.allSettled([operator?.stop(), load?.stop()]);
    broken.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  const printed = await fleet.stop();
  broken.push(...fleet.broken);
  if (broken.length > 0) await keep(store, printed, broken);
  for (const each of receivers) await each.close();
  return {
    acknowledged: load?.acknowledged.length ?? 0,
    moved: movedBy(load).length,
    ...countDeliveries(receivers),
    stale: load?.stale() ?? 0,
    killed: fleet.killed(),
    broken,
  };
}

const movedBy = (load: Load | undefined): readonly number[] =>
  load?.acknowledged.filter(({ hasMoved }) => hasMoved).map(({ bookingId }) => bookingId) ?? [];

/** When rounds share a store, the next round must not call a receiver that is gone. */
export async function leave(store: Store, { brandId, communityId }: Market): Promise<void> {
  for (const owner of [
    ['--brand', String(brandId)],
    ['--community', String(communityId)],
  ]) {
    const listed = await store.venue(['webhook', 'list', ...owner]);
    for (const { id } of JSON.parse(listed.stdout)) await store.venue(['webhook', 'disable', id]);
  }
}

/** Keeps the output of the processes and the violations, beside the files of the store. */
export async function keep(store: Store, printed: readonly string[], broken: readonly string[]): Promise<void> {
  const folder = join(store.folder, 'processes');
  await mkdir(folder, { recursive: true });
  for (const [n, output] of printed.entries()) await writeFile(join(folder, `${n}.log`), output);
  await writeFile(join(store.folder, 'broken.txt'), broken.join('\n'));
  await keepLog(store).catch(() => {});
}
