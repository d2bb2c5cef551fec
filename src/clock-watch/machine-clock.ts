import { randomUUID } from 'node:crypto';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import { type EventStore, LOG_START, logEnd, type Position } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';
import type { SteadyClock } from '../runtime/steady-clock.ts';
import { isOff, lengthOf, offsetOf, SET_MS, TOLERANCE_MS } from './deviation.ts';
import type { Finding } from './engine-clocks.ts';

/** What the processes of this machine remember of its clock. */
type ClockRecord = {
  /** Since when the machine has been counting time. */
  readonly since?: string;
  /** How far the clock was ahead of that count when it was last trusted, in milliseconds. */
  readonly offset?: number;
  /** Unique to the last time that an operator declared the clock to be right. */
  readonly accepted?: string;
  /** The end of the log then: what is in there no longer counts against the clock. */
  readonly acceptedAt?: Position;
  /** The furthest that CLOCK_SHIFT has moved the clock forward on this store, in milliseconds. */
  readonly longestShift?: number;
};

const COLLECTION: Collection<ClockRecord> = { name: 'machineClock', kind: 'record', indexes: [] };
const KEY = 'machine';
const IF_RIGHT = 'If it is right now, run: venue clock accept';

export type MachineClock = {
  /**
   * Compares the clock with what this machine knows by itself.
   * @param options.lastEvent whether an event that lies ahead counts. Default true
   */
  look(options?: { readonly lastEvent: boolean }): Promise<Finding>;
  /** Declares the clock to be right. */
  accept(): Promise<void>;
  /** Notes that events are written with a clock that is this far ahead on purpose, in milliseconds. */
  noteShift(shift: number): Promise<void>;
};

/**
 * Whether a clock can be trusted that no other can be compared with. It must go on as it did when it was first trusted, for as
 * long as the machine runs, over restarts of the service; and no event may lie ahead of it when it is first trusted.
 */
export async function openMachineClock(deps: {
  readonly documents: DocumentStore;
  readonly events: Pick<EventStore, 'readAll'>;
  readonly wall: Clock;
  readonly steady: SteadyClock;
}): Promise<MachineClock> {
  const { events, wall, steady } = deps;
  const records = await deps.documents.open(COLLECTION);
  /** What this process goes by; undefined until the clock has been trusted. */
  let trusted: { readonly offset: number; readonly accepted: string | undefined } | undefined;

  async function change(fields: ClockRecord): Promise<void> {
    await records.update(KEY, (record) => ({ ...record, ...fields }));
  }

  async function trust(now: number, accepted: string | undefined): Promise<Finding> {
    trusted = { offset: now, accepted };
    await change(defined({ since: steady.since, offset: now }));
    return { problem: undefined };
  }

  /** How far the last event lies ahead, in milliseconds. */
  async function lastEventAhead({ acceptedAt = LOG_START, longestShift = 0 }: ClockRecord): Promise<number> {
    for await (const { position, metadata } of events.readAll({ direction: 'backward', limit: 1 })) {
      if (position <= acceptedAt || typeof metadata.at !== 'string') return 0;
      return Date.parse(metadata.at) - longestShift - wall();
    }
    return 0;
  }

  return {
    async look({ lastEvent } = { lastEvent: true }) {
      const now = offsetOf(wall, steady);
      if (trusted !== undefined && !isOff(now - trusted.offset)) {
        // Small corrections add up over months, so they are followed.
        return Math.abs(now - trusted.offset) > SET_MS ? trust(now, trusted.accepted) : { problem: undefined };
      }
      const record = (await records.get(KEY))?.document ?? {};
      if (trusted !== undefined && record.accepted !== trusted.accepted) return trust(now, record.accepted);
      const isSameRun = steady.since !== undefined && record.since === steady.since;
      const before = isSameRun ? record.offset : trusted?.offset;
      if (before !== undefined) {
        const moved = now - before;
        if (!isOff(moved)) return trust(now, record.accepted);
        const direction = moved > 0 ? 'forward' : 'back';
        return {
          problem: `The clock of this machine was set ${direction} by ${lengthOf(moved)} while the machine was running. ${IF_RIGHT}`,
        };
      }
      const ahead = lastEvent ? await lastEventAhead(record) : 0;
      if (ahead <= TOLERANCE_MS) return trust(now, record.accepted);
      return {
        problem: `The clock of this machine is ${lengthOf(ahead)} behind the last event in the log. ${IF_RIGHT}`,
      };
    },

    async accept() {
      await change(
        defined({
          since: steady.since,
          offset: offsetOf(wall, steady),
          accepted: randomUUID(),
          acceptedAt: await logEnd(events),
        }),
      );
    },

    async noteShift(shift) {
      const longest = (await records.get(KEY))?.document.longestShift ?? 0;
      if (shift > longest) await change({ longestShift: shift });
    },
  };
}
