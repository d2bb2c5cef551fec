import type { Stored } from '../document-store/document-store.ts';
import type { Lease } from '../document-store/lease.ts';
import type { DeliveryDocument } from './delivery.ts';
import type { Receiver } from './receivers.ts';
import type { Unstored } from './unstored.ts';

/** With how many attempts in flight a lane begins; each round of successes adds one, and each failure halves them. */
const FIRST_IN_FLIGHT = 2;

/** The deliveries of one registration, while this process holds its lease. */
export type Lane = {
  readonly webhookId: string;
  /** Deliveries being attempted, until their outcome is stored. */
  readonly inFlight: Set<string>;
  /** Their sequences. */
  readonly sequences: Set<string>;
  /** What it has found due in the store and not started yet, by sequence. */
  queues: Map<string, Stored<DeliveryDocument>[]>;
  /** How many of them are waiting for a response; the outcomes of the others are being stored. */
  sending: number;
  /** How many may be. */
  window: number;
  woken: boolean;
  /** An attempt has taken too long for a lane of a prompt receiver, or the only attempt of another lane has been made. */
  ending: boolean;
  /** An attempt threw or its outcome could not be stored: the lane ends, and the next poll starts a new one. */
  failed: boolean;
  /** The registration is disabled, removed or being disabled: no further attempts start. */
  disabled: boolean;
  changed: PromiseWithResolvers<void>;
  /**
   * Whether it takes deliveries that are not stored yet. `opening`: they wait until nothing in the store is due. `over`: it is about
   * to end, and the next lane may.
   */
  door: 'opening' | 'open' | 'shut' | 'over';
  /** How it sends them, while the door is open. */
  sender?: LaneSender;
  /** Those whose turn it is not yet. They count as in flight. */
  readonly waiting: Set<Unstored>;
  /**
   * Those that were stored instead of sent, since the lane last looked into the store. Until it looks again nothing else of their
   * sequences may start.
   */
  readonly returned: { readonly key: string; readonly sequence: string }[];
  /** Whether it has taken one since it last looked. */
  used: boolean;
  readonly ended: PromiseWithResolvers<void>;
};

/** What the attempts of a lane need that holds its lease. */
export type LaneSender = { readonly lease: Lease; readonly receiver: Receiver; readonly mayStart: () => boolean };

/** A delivery that is about to be attempted. */
export type Chosen = {
  readonly delivery: Stored<DeliveryDocument>;
  readonly sequence: string;
  readonly isProbe: boolean;
  /** If it is not stored yet. */
  readonly unstored?: Unstored;
};

/** @param takesUnstored whether its receiver is one for what is not stored yet */
export function createLane(webhookId: string, takesUnstored: boolean): Lane {
  return {
    webhookId,
    inFlight: new Set(),
    sequences: new Set(),
    queues: new Map(),
    sending: 0,
    window: FIRST_IN_FLIGHT,
    woken: false,
    ending: false,
    failed: false,
    disabled: false,
    changed: Promise.withResolvers(),
    door: takesUnstored ? 'opening' : 'shut',
    waiting: new Set(),
    returned: [],
    used: false,
    ended: Promise.withResolvers(),
  };
}

/** A delivery is no longer in flight. */
export function release(lane: Lane, key: string, sequence: string): void {
  lane.inFlight.delete(key);
  lane.sequences.delete(sequence);
  notifyOfEnd(lane);
}

/** Releases what was stored instead of sent, for a lane that is about to look into the store. */
export function takeBack(lane: Lane): void {
  for (const { key, sequence } of lane.returned.splice(0)) release(lane, key, sequence);
}

/** Resolves when something has changed in a lane, or after `ms`. */
export async function changedWithin(lane: Lane, ms: number): Promise<void> {
  const timer = setTimeout(() => notify(lane), ms);
  await lane.changed.promise;
  clearTimeout(timer);
}

/** An attempt has ended: a lane that sends what is not stored need not hear of it while all is well. */
export function notifyOfEnd(lane: Lane): void {
  if (lane.door !== 'open' || lane.failed || lane.disabled || lane.ending) notify(lane);
}

export function notify(lane: Lane): void {
  const { resolve } = lane.changed;
  lane.changed = Promise.withResolvers();
  resolve();
}
