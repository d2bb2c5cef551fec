import { setTimeout as delay } from 'node:timers/promises';
import type { Heartbeats } from '../leases/heartbeats.ts';
import { readHolder } from '../leases/lease.ts';
import {
  generationName,
  idIn,
  openCatalogue,
  projectorLease,
  READ_MODEL_LEASES,
  rebuildLease,
} from '../read-models/generations.ts';
import type { NodeStatus } from '../read-models/node-status.ts';
import { openReadModelLeases } from '../read-models/read-models.ts';
import { openGeneration } from './follow.ts';
import type { ProjectorDeps } from './projector.ts';

export type RebuildProgress = {
  /** Events read so far. */
  readonly done: number;
  /** Events to read; absent while they have not been counted. */
  readonly total?: number;
};

/** How long a rebuild waits for a process that keeps the read models of this release up to date, in milliseconds. */
const BEGIN_WITHIN_MS = 30_000;
const CHECK_EVERY_MS = 50;
/** How long the process of a rebuild may be silent, in milliseconds. To index a large collection, SQLite blocks it for seconds. */
const SILENCE_MS = 60_000;

/**
 * Builds a new generation of the read models of this release, in this process, beside the live one. Resolves once processes read it
 * (docs/decisions/read-models.md). If a read model fails, the live generation stays in use.
 * @throws if a read model fails, or no running process keeps this generation up to date
 */
export async function rebuild(
  deps: Pick<ProjectorDeps, 'events' | 'documents' | 'projections' | 'logger'> & {
    readonly heartbeats: Heartbeats<NodeStatus>;
    readonly onProgress?: (progress: RebuildProgress) => void;
    readonly beginWithinMs?: number;
  },
): Promise<void> {
  const { documents, projections, onProgress, beginWithinMs = BEGIN_WITHIN_MS } = deps;
  const name = generationName(projections);
  const catalogue = await openCatalogue(documents);
  const { heartbeats } = deps;
  const leases = await openReadModelLeases({ documents, heartbeats, durationMs: SILENCE_MS });
  const isReady = async () =>
    idIn((await catalogue.read()).document, name, 'live') !== undefined &&
    (await readHolder(documents, READ_MODEL_LEASES, projectorLease(name))) !== undefined;
  for (const begun = performance.now(); !(await isReady()); await delay(CHECK_EVERY_MS))
    if (performance.now() - begun > beginWithinMs)
      throw new Error('No running process keeps these read models up to date. Is the service of another release?');

  const lease = await leases.tryAcquire(rebuildLease(name));
  if (lease === undefined) throw new Error('The read models are being rebuilt already.');
  const stopping = new AbortController();
  try {
    const { document } = await catalogue.apply({ type: 'Begun', name });
    const id = idIn(document, name, 'building');
    if (id === undefined) throw new Error('The read models have just been rebuilt. Try again in a few seconds.');
    const total = (await documents.checkpoints([idIn(document, name, 'live') ?? ''])).values().next().value?.events;
    try {
      const opened = await openGeneration(
        {
          ...deps,
          signal: stopping.signal,
          isHeld: lease.isHeld,
          reached: ({ events }) =>
            onProgress?.({ done: events, ...(total !== undefined && { total: Math.max(total, events) }) }),
        },
        id,
        'rebuild',
      );
      await opened.build();
    } catch (error) {
      await catalogue.apply({ type: 'Dropped', id });
      throw error instanceof Error
        ? new Error(`${error.message}. The former read models stay in use.`, { cause: error })
        : error;
    }
    await catalogue.apply({ type: 'CaughtUp', id });
    for (;;) {
      const generation = (await catalogue.read()).document.generations[id];
      if (generation === undefined) throw new Error('The rebuilt read models were dropped before processes read them.');
      if (generation.state === 'live') return;
      await delay(CHECK_EVERY_MS);
    }
  } finally {
    stopping.abort();
    await lease.release();
  }
}
