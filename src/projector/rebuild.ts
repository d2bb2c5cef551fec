import { defined } from '../domain/defined.ts';
import {
  idOf,
  openReadModelState,
  placeOf,
  type ReadModelId,
  type ReadModelStates,
  toBuild,
  withModel,
} from '../read-models/state.ts';
import type { ProjectorDeps } from './projector.ts';

export type RebuildProgress = {
  /** Events read so far. */
  readonly done: number;
  /** Events to read; absent while they have not been counted. */
  readonly total?: number;
};

/** How long a rebuild may wait for a service that knows these versions of the read models, in milliseconds. */
const BEGIN_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 50;
const STAYS = '. The former documents stay in use, and the service tries again';

/**
 * Rebuilds read models beside the live ones and swaps them in once they have caught up (docs/decisions/read-models.md). The
 * process that looks after a read model does the work.
 * @param names of projections; default all
 * @throws for a name that is not a projection's, if one fails, if `signal` is aborted, or if no running service knows them
 */
export async function rebuild(
  deps: Pick<ProjectorDeps, 'documents' | 'projections'> & {
    readonly names?: readonly string[];
    readonly onProgress?: (progress: RebuildProgress) => void;
    readonly signal?: AbortSignal;
    readonly beginWithinMs?: number;
  },
): Promise<void> {
  const known = deps.projections.map(({ name }) => name);
  const { names = known, onProgress, signal, beginWithinMs = BEGIN_WITHIN_MS } = deps;
  const strange = names.find((name) => !known.includes(name));
  if (strange !== undefined) throw new Error(`Unknown read model ${strange}; read models are ${known.join(', ')}`);
  const projections = deps.projections.filter(({ name }) => names.includes(name));

  const state = await openReadModelState(deps.documents);
  const begun = performance.now();
  const isLookedAfter = ({ models }: ReadModelStates) =>
    projections.map(idOf).every((id) => models[id]?.owner !== undefined || models[id]?.failure !== undefined);
  while (!isLookedAfter((await state.readStates()).document)) {
    signal?.throwIfAborted();
    if (performance.now() - begun > beginWithinMs)
      throw new Error('No running process looks after these read models. Is the service of another release?');
    await state.change(LOOK_EVERY_MS);
  }

  const building = new Map<ReadModelId, string>();
  await state.update((states) => {
    building.clear();
    return projections.map(idOf).reduce((next, id) => {
      const model = next.models[id];
      const fresh = toBuild(id, model ?? { generation: 0 });
      building.set(id, model?.building ?? fresh.building);
      return model?.building === undefined ? withModel(next, id, fresh) : next;
    }, states);
  });

  for (let done = 0; ; ) {
    signal?.throwIfAborted();
    const { models } = (await state.readStates()).document;
    const left = [...building].filter(([id, collection]) => models[id]?.building === collection);
    if (left.length === 0) return;
    for (const [id] of left) {
      const { live, failure } = models[id] ?? {};
      if (failure === undefined) continue;
      const rest = live === undefined || failure.collection === live ? '' : STAYS;
      throw new Error(`${failure.message}${rest}`);
    }
    const positions = await state.positions();
    const now = Math.min(...left.map(([, collection]) => placeOf(positions, collection).events));
    const total = Math.max(0, ...positions.groups.map(({ events }) => events));
    if (now > done) onProgress?.(defined({ done: now, total: total > 0 ? total : undefined }));
    done = Math.max(done, now);
    await state.change(LOOK_EVERY_MS);
  }
}
