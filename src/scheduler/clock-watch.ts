import { setTimeout as delay } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';

/** The largest tolerated difference. NTP keeps clocks within a second. */
const TOLERANCE_MS = 30_000;
const CHECK_EVERY_MS = 5_000;
/** A live process is compared once it beats, each second; a dead one is no longer waited for after four. */
const COMPARED_WITHIN_MS = 6_000;
const COMPARE_AGAIN_MS = 250;
const NOT_COMPARED_YET = 'The clock of this machine could not be compared yet';

/**
 * Checks whether the clock of this machine is right enough for timed commands (docs/decisions/time.md): not behind the last event, and
 * near those of the other processes and of MongoDB.
 * @param deps.clock what events are dated with. A shift forward (`CLOCK_SHIFT`) counts only against the last event
 */
export function createClockWatch(deps: {
  readonly events: Pick<EventStore, 'lastEvent'>;
  readonly documents: Pick<OperatedDocumentStore, 'now'>;
  readonly heartbeats: Pick<Heartbeats<object>, 'clockLeads'>;
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'error' | 'warn'>;
  readonly wall?: Clock;
}) {
  const { events, documents, heartbeats, clock, logger, wall = systemClock() } = deps;
  /** The problem that the last complete check has found. */
  let problem: string | undefined;
  let hasChecked = false;
  let timer: NodeJS.Timeout | undefined;

  async function findProblem(): Promise<string | undefined> {
    const at = (await events.lastEvent())?.metadata.at;
    const behind = typeof at === 'string' ? Date.parse(at) - Math.max(clock(), wall()) : 0;
    if (behind > TOLERANCE_MS)
      return `The clock of this machine is ${lengthOf(behind)} behind the last event in the log`;
    const mongo = await documents.now();
    const leads = [
      { lead: mongo === undefined ? 0 : wall() - mongo, of: 'MongoDB' },
      ...heartbeats.clockLeads().map((lead = 0) => ({ lead, of: 'another process' })),
    ];
    const off = leads.find(({ lead }) => Math.abs(lead) > TOLERANCE_MS);
    if (off === undefined) return undefined;
    return `The clock of this machine is ${lengthOf(off.lead)} ${off.lead > 0 ? 'ahead of' : 'behind'} that of ${off.of}`;
  }

  /** Checks the clock. Resolves to a sentence with the reason why the scheduler must rest, if there is one. */
  async function check(): Promise<string | undefined> {
    let current: string | undefined;
    try {
      current = await findProblem();
    } catch {
      // A store is unavailable, so that the scheduler can change nothing anyway.
      return hasChecked ? problem : NOT_COMPARED_YET;
    }
    if (problem === undefined && current !== undefined)
      logger.error({ clock: current }, `${current}. Requests are answered, but timed jobs are paused`);
    if (problem !== undefined && current === undefined) logger.warn('The clock of this machine is trusted again');
    problem = current;
    hasChecked = true;
    return current ?? (heartbeats.clockLeads().includes(undefined) ? NOT_COMPARED_YET : undefined);
  }

  return {
    check,
    /** The same for a process that has just started: waits until the clocks of the others are known. */
    async checkAll(): Promise<string | undefined> {
      const giveUpAt = performance.now() + COMPARED_WITHIN_MS;
      while (heartbeats.clockLeads().includes(undefined) && performance.now() < giveUpAt) await delay(COMPARE_AGAIN_MS);
      return check();
    },
    /** The problem that the last check has found. */
    problem: (): string | undefined => problem,
    /** Checks now and every few seconds. */
    async start(): Promise<void> {
      await check();
      timer = setInterval(check, CHECK_EVERY_MS).unref();
    },
    stop: (): void => clearInterval(timer),
  };
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** Formats a duration in the largest unit that fits: `20 days`, `45 seconds` */
function lengthOf(milliseconds: number): string {
  const length = Math.abs(milliseconds);
  const [unit, size] = UNITS.find(([, each]) => length >= each) ?? ['second', 1_000];
  const style = { style: 'unit', unit, unitDisplay: 'long', maximumFractionDigits: 0 } as const;
  return new Intl.NumberFormat('en', style).format(length / size);
}
