import type { BaseLogger } from 'pino';
import { untilNext } from '../runtime/rounds.ts';
import { type LeaseDeps, type Leases, openLeases } from './lease.ts';

/** What a process runs while it holds a role. */
export type RunningRole = {
  stop(): Promise<void>;
  /** Whether it cannot go on by itself, so that another process should try. Default: never. */
  isStuck?(): boolean;
};

export type Role = {
  /** Runs the role once no other process does. */
  start(): void;
  /** Stops what runs, then lets another process take over. */
  stop(): Promise<void>;
};

/** How long the process of a role may be silent before another one takes over, in milliseconds. */
const SILENCE_MS = 4_000;
/** How often a process that stands by checks whether the role is free. */
const STANDBY_POLL_MS = 250;
/** How often the active process checks whether it still holds the lease. */
const HELD_POLL_MS = 1_000;
/** How long a process that was stuck leaves the role to others. */
const STUCK_PAUSE_MS = 2_000;

/**
 * Runs a role in one process at a time, under one lease; the others stand by (docs/decisions/leases.md).
 * @param deps.run starts the work. It must start nothing new once `isHeld` is false: another process may run the role by then
 */
export function createRole(
  deps: Omit<LeaseDeps, 'collection' | 'durationMs'> & {
    readonly name: string;
    readonly run: (isHeld: () => boolean) => Promise<RunningRole>;
    readonly logger: Pick<BaseLogger, 'warn' | 'error'>;
    /** Default {@link SILENCE_MS}. */
    readonly durationMs?: number | undefined;
  },
): Role {
  const { name, run, logger, durationMs = SILENCE_MS } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  let leases: Leases | undefined;
  let running: Promise<void> | undefined;
  let failure: string | undefined;
  let wasStuck = false;

  /** Resolves at once if another process holds the role, otherwise when this one no longer does. */
  async function runIfFree(): Promise<void> {
    wasStuck = false;
    leases ??= await openLeases({ ...deps, collection: 'roles', durationMs });
    const lease = await leases.tryAcquire(name);
    if (lease === undefined) return;
    const isHeld = () => !signal.aborted && lease.isHeld();
    try {
      const active = await run(isHeld);
      failure = undefined;
      const isStuck = () => active.isStuck?.() ?? false;
      while (isHeld() && !isStuck()) await untilNext(HELD_POLL_MS, signal, { ref: false });
      wasStuck = isHeld();
      if (!signal.aborted)
        logger.warn(
          { role: name },
          `This process ${wasStuck ? 'cannot go on' : 'was silent for too long'} and gives up its role`,
        );
      await active.stop();
    } finally {
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
      await untilNext(wasStuck ? STUCK_PAUSE_MS : STANDBY_POLL_MS, signal, { ref: false });
    }
  }

  return {
    start() {
      running ??= runInTurn();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
