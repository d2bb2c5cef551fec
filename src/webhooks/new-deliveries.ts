import { isReliable } from './breaker.ts';
import type { Deliveries, NewDelivery } from './deliveries.ts';
import type { createPermits, Permit } from './in-flight.ts';
import { type Chosen, type Lane, type LaneSender, notify } from './lane.ts';
import type { Receivers } from './receivers.ts';
import { createUnstored, type Unstored } from './unstored.ts';

/**
 * How long a delivery may be without an answer and not stored: then it is stored as pending, and its event is done. Counted in
 * turns of a timer, so that a time in which this process was too busy to hear of an answer counts as one turn.
 */
const UNSTORED_TURN_MS = 20;
const MAX_UNSTORED_TURNS = 5;

/**
 * How many of a registration wait until nothing in the store is due. While others are on their way, so that more comes than is sent,
 * this is what slows the fan-out down: if all of it were stored at once, the store would never be empty again, and each delivery two
 * writes. It is a quarter of what the fan-out has in progress of one kind, so that events for others pass.
 */
const MAX_WAITING = 64;

/** New deliveries: sent before they are stored, where that may be, and otherwise stored first (docs/decisions/webhook-deliveries.md). */
export function createNewDeliveries(deps: {
  readonly deliveries: Deliveries;
  readonly receivers: Pick<Receivers, 'get' | 'cached'>;
  readonly permits: Pick<ReturnType<typeof createPermits>, 'tryAcquire'>;
  readonly lanes: ReadonlyMap<string, Lane>;
  /** Whether deliveries are made at all at this moment. */
  readonly isRunning: () => boolean;
  readonly startLane: (webhookId: string) => void;
  readonly wake: (webhookId: string) => void;
  readonly start: (lane: Lane, sender: LaneSender, chosen: Chosen, permit: Permit) => void;
}) {
  const { deliveries, receivers, permits, lanes, isRunning, startLane, wake, start } = deps;
  /** Those that are not stored yet, by the key of their delivery. */
  const unstored = new Map<string, Unstored>();
  /** In how many turns each of them had no answer. */
  const turnsOf = new WeakMap<Unstored, number>();
  let timer: NodeJS.Timeout | undefined;

  async function deliver(added: NewDelivery, earlier: readonly string[] | undefined): Promise<void> {
    const { webhookId } = added;
    const delivery = deliveries.draft(added);
    const { key } = delivery;
    const same = unstored.get(key);
    if (same !== undefined) return same.stored;
    const one = createUnstored(deliveries, delivery, { earlier: earlier ?? [] });
    unstored.set(key, one);
    timer ??= setTimeout(turn, UNSTORED_TURN_MS);
    let lane: Lane | undefined;
    try {
      if (earlier !== undefined) lane = await laneFor(webhookId);
      if (lane !== undefined && hasRoom(lane) && !isBehind(lane, one)) return await accept(lane, one);
    } finally {
      unstored.delete(key);
    }
    if (await one.keep()) wake(webhookId);
  }

  /** The lane that takes what is not stored yet, if the receiver is one for that. */
  async function laneFor(webhookId: string): Promise<Lane | undefined> {
    while (isRunning()) {
      const lane = lanes.get(webhookId);
      if (lane?.door === 'over') {
        await lane.ended.promise;
        continue;
      }
      if (lane !== undefined) return lane.door === 'shut' ? undefined : lane;
      const known = receivers.cached(webhookId) ?? (await receivers.get(webhookId));
      if (!isReliable(known)) return undefined;
      if (!lanes.has(webhookId)) startLane(webhookId);
    }
    return undefined;
  }

  const hasRoom = ({ door, waiting }: Lane) => door === 'open' || waiting.size < MAX_WAITING;

  /** Whether something of its sequence is in flight, or about to be. */
  const isBehind = ({ sequences, queues }: Lane, { sequence }: Unstored) =>
    sequences.has(sequence) || queues.has(sequence);

  /** Resolves once it is stored. */
  function accept(lane: Lane, one: Unstored): Promise<void> {
    lane.used = true;
    lane.inFlight.add(one.delivery.key);
    lane.sequences.add(one.sequence);
    lane.waiting.add(one);
    sendWaiting(lane);
    return one.stored;
  }

  /** Starts the attempts whose turn it is. */
  function sendWaiting(lane: Lane): void {
    const { sender, waiting } = lane;
    if (lane.door !== 'open' || sender === undefined) return;
    const { receiver, mayStart } = sender;
    for (const one of waiting) {
      if (lane.sending >= Math.floor(lane.window)) return;
      if (!mayStart() || !isReliable(receiver.state())) {
        shut(lane);
        notify(lane);
        return;
      }
      const permit = permits.tryAcquire('prompt');
      if (permit === undefined) return;
      waiting.delete(one);
      const { delivery, sequence } = one;
      start(lane, sender, { delivery, sequence, isProbe: false, unstored: one }, permit);
    }
  }

  /** Stores what has been without an answer for too long. */
  function turn(): void {
    for (const one of unstored.values()) {
      const turns = (turnsOf.get(one) ?? 0) + 1;
      turnsOf.set(one, turns);
      if (turns <= MAX_UNSTORED_TURNS) continue;
      const lane = lanes.get(one.delivery.document.webhookId);
      if (lane?.waiting.delete(one)) keep(lane, one);
      // Whoever waits for it hears if that fails.
      else void one.keep().catch(() => {});
    }
    timer = unstored.size > 0 ? setTimeout(turn, UNSTORED_TURN_MS) : undefined;
  }

  /** From now on what is new is stored first, and so is what waits. */
  function shut(lane: Lane): void {
    lane.door = 'shut';
    for (const one of lane.waiting) keep(lane, one);
    lane.waiting.clear();
  }

  /** Stores a delivery that was not sent. Whoever waits for it hears if that fails. */
  function keep(lane: Lane, one: Unstored): void {
    const { delivery, sequence } = one;
    const stored = one.keep().catch(() => {});
    void stored.then(() => giveBack(lane, delivery.key, sequence));
  }

  /** Leaves a delivery that was not sent to the store, where its lane finds it when it looks again. */
  function giveBack(lane: Lane, key: string, sequence: string): void {
    lane.returned.push({ key, sequence });
    notify(lane);
    wake(lane.webhookId);
  }

  return { deliver, sendWaiting, shut, giveBack, stop: () => clearTimeout(timer) };
}
