import { setTimeout as delay } from 'node:timers/promises';
import { roomProblem } from '../document-store/room.ts';
import { openCurrentGeneration } from '../read-models/current-generation.ts';
import { openReadModelLeases, projectorLease, rebuildLease } from '../read-models/leases.ts';
import { openGeneration } from './follow.ts';
import type { ProjectorDeps } from './projector.ts';

/** How long a rebuild waits for a process that keeps the read models of this release up to date, in milliseconds. */
const BEGIN_WITHIN_MS = 30_000;
const CHECK_EVERY_MS = 50;
/** How long the process of a rebuild may be silent, in milliseconds. To index a large collection, SQLite blocks it for seconds. */
const SILENCE_MS = 60_000;

/**
 * Builds a new generation of the read models of this release, in this process, beside the live one. Resolves once processes read it
 * (docs/decisions/read-models.md). If a read model fails, the live generation stays in use.
 * @throws if the disk has no room, a read model fails, or no running process keeps this generation up to date
 */
export async function rebuild(
  deps: Pick<ProjectorDeps, 'events' | 'documents' | 'projections' | 'logger' | 'heartbeats'> & {
    /** Called with the number of events read so far, and to read. */
    readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void;
    readonly beginWithinMs?: number;
  },
): Promise<void> {
  const { documents, heartbeats, onProgress, beginWithinMs = BEGIN_WITHIN_MS } = deps;
  const problem = await roomProblem(documents);
  if (problem !== undefined) throw new Error(problem);
  const generations = await openCurrentGeneration(deps);
  const { name, apply, refresh, live } = generations;
  const leases = await openReadModelLeases(documents, heartbeats, SILENCE_MS);
  const startedAt = performance.now();
  for (; live() === undefined || !(await leases.isHeld(projectorLease(name))); await delay(CHECK_EVERY_MS)) {
    if (performance.now() - startedAt > beginWithinMs)
      throw new Error('No running process keeps these read models up to date. Is the service of another release?');
    await refresh();
  }

  const lease = await leases.tryAcquire(rebuildLease(name));
  if (lease === undefined) throw new Error('The read models are being rebuilt already.');
  const stopping = new AbortController();
  try {
    await apply({ type: 'Begun', name });
    const { id, state } = generations.building() ?? {};
    if (id === undefined || state !== 'building')
      throw new Error('The read models have just been rebuilt. Try again in a few seconds.');
    const total = live()?.checkpoint.events ?? 0;
    const reached = ({ events }: { readonly events: number }) =>
      onProgress?.({ done: events, total: Math.max(total, events) });
    try {
      const opened = await openGeneration(
        { ...deps, signal: stopping.signal, isHeld: lease.isHeld, reached },
        id,
        'rebuild',
      );
      await opened.build();
    } catch (error) {
      await apply({ type: 'Dropped', id });
      throw error instanceof Error
        ? new Error(`${error.message}. The former read models stay in use.`, { cause: error })
        : error;
    }
    await apply({ type: 'CaughtUp', id });
    for (; live()?.id !== id; await refresh()) {
      if (!generations.has(id)) throw new Error('The rebuilt read models were dropped before processes read them.');
      await delay(CHECK_EVERY_MS);
    }
  } finally {
    stopping.abort();
    await lease.release();
  }
}
