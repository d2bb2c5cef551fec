import type { BaseLogger } from 'pino';
import type { DocumentStore } from '../document-store/document-store.ts';
import { untilNext } from '../event-loop/rounds.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Heartbeats } from './heartbeats.ts';
import { type Leases, openLeases } from './lease.ts';

/** What a process runs while it holds a role. */
export type RunningRole = {
  stop(): Promise<void>;
  /** Whether it cannot go on by itself, so that another process should try. Default: never. */
  isStuck?(): boolean;
};

export type Role = ReturnType<typeof createRole>;

/** The collection of the leases of roles. */
export const ROLE_LEASES = 'roles';
/** How often a process that stands by checks whether the role is free. */
const STANDBY_POLL_MS = 250;
/** How often the active process checks whether it still holds the lease. */
const HELD_POLL_MS = 1_000;
/** How long a process that was stuck leaves the role to others. */
const STUCK_PAUSE_MS = 2_000;

/**
 * Runs a role in one process at a time, under one lease; the others stand by, and take over from one that is silent for as long as any process
 * may be (docs/decisions/processes.md#roles).
 * @param deps.run starts the work. It must start nothing new once `isHeld` is false: another process may run the role by then
 */
export function createRole(deps: {
  readonly name: string;
  /** The collection of its lease. Default {@link ROLE_LEASES}. */
  readonly collection?: string;
  readonly documents: DocumentStore;
  readonly heartbeats: Heartbeats<object>;
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'warn' | 'error'>;
  readonly run: (isHeld: () => boolean) => Promise<RunningRole>;
  /** Whether this process may run it now, or has to leave it to others. Default: always. */
  readonly mayRun?: () => boolean;
}) {
  const { name, collection = ROLE_LEASES, documents, heartbeats, clock, logger, run, mayRun = () => true } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  let leases: Leases | undefined;
  let running: Promise<void> | undefined;
  let isActive = () => false;
  let failure: string | undefined;
  let wasStuck = false;

  /** Resolves at once if this process may not run the role or another one holds it, otherwise when this one no longer does. */
  async function runIfFree(): Promise<void> {
    wasStuck = false;
    if (!mayRun()) return;
    leases ??= await openLeases({ documents, heartbeats, clock, collection, durationMs: heartbeats.silenceMs });
    const lease = await leases.tryAcquire(name);
    if (lease === undefined) return;
    const isHeld = () => !signal.aborted && lease.isHeld();
    try {
      const active = await run(isHeld);
      isActive = isHeld;
      failure = undefined;
      const isStuck = () => active.isStuck?.() ?? false;
      while (isHeld() && mayRun() && !isStuck()) await untilNext(HELD_POLL_MS, signal);
      wasStuck = isHeld() && isStuck();
      if (!signal.aborted)
        logger.warn(
          { role: name },
          isHeld() ? 'This process leaves a role to others' : 'This process was silent for too long and lost a role',
        );
      await active.stop();
    } finally {
      isActive = () => false;
      await lease.release();
    }
  }

  async function runInTurn(): Promise<void> {
    while (!signal.aborted) {
      try {
        await runIfFree();
      } catch (error) {
        // Logged once: it is tried again several times a second.
        if (failure !== String(error)) logger.error({ err: error, role: name }, 'A role could not be run; retrying');
        failure = String(error);
      }
      await untilNext(wasStuck ? STUCK_PAUSE_MS : STANDBY_POLL_MS, signal);
    }
  }

  return {
    /** Runs the role once no other process does. */
    start(): void {
      running ??= runInTurn();
    },
    /** Whether this process runs it. */
    isActive: (): boolean => isActive(),
    /** Stops what runs, then lets another process take over. */
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}
