import { randomUUID } from 'node:crypto';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import { type EventStore, LOG_START, logEnd, type Position } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';
import type { SteadyClock } from '../runtime/steady-clock.ts';
import { isOff, lengthOf, offsetOf, SET_MS, TOLERANCE_MS } from './deviation.ts';
import type { Finding } from './engine-clocks.ts';

/** The stored state of this machine's clock, shared by its processes. */
type ClockRecord = {
  /** The start of the machine's steady clock. */
  readonly since?: string;
  /** The lead of the clock over the steady clock when it was last trusted, in milliseconds. */
  readonly offset?: number;
  /** Identifies the last time that an operator accepted the clock. */
  readonly accepted?: string;
  /** The end of the log at that time. Earlier events no longer count against the clock. */
  readonly acceptedAt?: Position;
  /** The longest forward CLOCK_SHIFT used on this store, in milliseconds. */
  readonly longestShift?: number;
};

const COLLECTION: Collection<ClockRecord> = { name: 'machineClock', kind: 'record', indexes: [] };
const KEY = 'machine';
const IF_RIGHT = 'If it is right now, run: venue clock accept';

/**
 * Checks the clock without another one to compare it with. The last event must not be ahead of it when it is first trusted. From then on
 * it must keep pace with the steady clock while the machine runs, across restarts of the service.
 */
export async function openMachineClock(deps: {
  readonly documents: DocumentStore;
  readonly events: Pick<EventStore, 'lastEvent'>;
  readonly wall: Clock;
  readonly steady: SteadyClock;
}) {
  const { events, wall, steady } = deps;
  const records = await deps.documents.open(COLLECTION);
  /** The offset that this process trusts; undefined until the clock has been trusted. */
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
    const last = await events.lastEvent();
    if (last === undefined || last.position <= acceptedAt || typeof last.metadata.at !== 'string') return 0;
    return Date.parse(last.metadata.at) - longestShift - wall();
  }

  return {
    /**
     * Compares the clock with the stored state.
     * @param options.lastEvent whether an event ahead of the clock counts. Default true
     */
    async check({ lastEvent: counts } = { lastEvent: true }): Promise<Finding> {
      const now = offsetOf(wall, steady);
      if (trusted !== undefined && !isOff(now - trusted.offset)) {
        // Follow small corrections, because they add up over months.
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
      const ahead = counts ? await lastEventAhead(record) : 0;
      if (ahead <= TOLERANCE_MS) return trust(now, record.accepted);
      return {
        problem: `The clock of this machine is ${lengthOf(ahead)} behind the last event in the log. ${IF_RIGHT}`,
      };
    },

    /** Declares the clock to be right. */
    async accept(): Promise<void> {
      await change(
        defined({
          since: steady.since,
          offset: offsetOf(wall, steady),
          accepted: randomUUID(),
          acceptedAt: await logEnd(events),
        }),
      );
    },

    /** Records that events are deliberately written with a clock this far ahead, in milliseconds. */
    async noteShift(shift: number): Promise<void> {
      const longest = (await records.get(KEY))?.document.longestShift ?? 0;
      if (shift > longest) await change({ longestShift: shift });
    },
  };
}
