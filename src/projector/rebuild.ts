import { setTimeout as delay } from 'node:timers/promises';
import { defined } from '../domain/defined.ts';
import { maxOf, minOf } from '../domain/extremes.ts';
import { readHolder } from '../leases/lease.ts';
import { idOf, openCatalogue, projectorLease, READ_MODEL_LEASES } from '../read-models/catalogue.ts';
import type { ProjectorDeps } from './projector.ts';

export type RebuildProgress = {
  /** Events read so far. */
  readonly done: number;
  /** Events to read; absent while they have not been counted. */
  readonly total?: number;
};

/** How long a rebuild waits for a service with these versions of the read models, in milliseconds. */
const BEGIN_WITHIN_MS = 30_000;
const CHECK_EVERY_MS = 50;
const STAYS = '. The former documents stay in use, and the service tries again';

/**
 * Rebuilds read models beside the live ones and swaps them in once they have caught up (docs/decisions/read-models.md). The process
 * that projects a read model rebuilds it.
 * @param names of projections; default all
 * @throws for an unknown name, if a rebuild fails, if `signal` is aborted, or if no running service has these versions
 */
export async function rebuild(
  deps: Pick<ProjectorDeps, 'documents' | 'projections'> & {
    readonly names?: readonly string[];
    readonly onProgress?: (progress: RebuildProgress) => void;
    readonly signal?: AbortSignal;
    readonly beginWithinMs?: number;
  },
): Promise<void> {
  const { documents, onProgress, signal, beginWithinMs = BEGIN_WITHIN_MS } = deps;
  const known = deps.projections.map(({ name }) => name);
  const { names = known } = deps;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`Unknown read model ${unknown}; read models are ${known.join(', ')}`);
  const ids = deps.projections.filter(({ name }) => names.includes(name)).map(idOf);

  const catalogue = await openCatalogue(documents);
  const isAttended = async () => {
    const { models } = (await catalogue.read()).document;
    const holder = await readHolder(documents, READ_MODEL_LEASES, projectorLease(deps.projections));
    return holder !== undefined && ids.every((id) => models[id] !== undefined);
  };
  for (const begun = performance.now(); !(await isAttended()); await delay(CHECK_EVERY_MS)) {
    signal?.throwIfAborted();
    if (performance.now() - begun > beginWithinMs)
      throw new Error('No running process keeps these read models up to date. Is the service of another release?');
  }

  const requested = (await catalogue.apply(...ids.map((id) => ({ type: 'RebuildRequested' as const, id })))).document;
  const building = ids.map((id) => [id, requested.models[id]?.building ?? ''] as const);
  for (let done = 0; ; await delay(CHECK_EVERY_MS)) {
    signal?.throwIfAborted();
    const { models } = (await catalogue.read()).document;
    const left = building.filter(([id, collection]) => models[id]?.building === collection);
    if (left.length === 0) return;
    for (const [id] of left) {
      const { live, failure } = models[id] ?? {};
      if (failure === undefined) continue;
      throw new Error(`${failure.message}${live === undefined || failure.collection === live ? '' : STAYS}`);
    }
    const checkpoints = await documents.checkpoints();
    const now = minOf(left.map(([, collection]) => checkpoints.get(collection)?.events ?? 0));
    const total = maxOf(
      [...checkpoints.values()].map(({ events }) => events),
      0,
    );
    if (now > done) onProgress?.(defined({ done: now, total: total > 0 ? total : undefined }));
    done = Math.max(done, now);
  }
}
