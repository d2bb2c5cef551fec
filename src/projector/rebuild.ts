import { setTimeout as delay } from 'node:timers/promises';
import { defined } from '../domain/defined.ts';
import { openProjectorState, put, SINGLETON_KEY } from '../read-models/projector-state.ts';
import { openProjector, type ProjectorDeps } from './projector.ts';

export type RebuildProgress = {
  /** Events read so far. */
  readonly done: number;
  /** Events to read; absent while they have not been counted. */
  readonly total?: number;
};

/**
 * Rebuilds read models beside the live ones and swaps them in once they have caught up
 * (docs/decisions/rebuild-and-verify.md). The projector that holds the lease does the work, in whichever process; without
 * one, this process does.
 * @param names of projections; default all
 * @throws for a name that is not a projection's, or if `signal` is aborted
 */
export async function rebuild(
  deps: ProjectorDeps & {
    readonly names?: readonly string[];
    readonly onProgress?: (progress: RebuildProgress) => void;
    readonly signal?: AbortSignal;
  },
): Promise<void> {
  const known = deps.projections.map(({ name }) => name);
  const { names = known, onProgress, signal } = deps;
  const strange = names.find((name) => !known.includes(name));
  if (strange !== undefined) throw new Error(`Unknown read model ${strange}; read models are ${known.join(', ')}`);

  const { pointers, requests, builds } = await openProjectorState(deps.documents);
  const generations = new Map<string, number>();
  for (const name of names) {
    generations.set(name, (await pointers.get(name))?.document.generation ?? 0);
    await put(requests, name, { projection: name });
  }

  // Stands by while another process holds the lease; otherwise does the work itself.
  const projector = await openProjector(deps);
  projector.start();
  try {
    let done = 0;
    for (;;) {
      signal?.throwIfAborted();
      const build = (await builds.get(SINGLETON_KEY))?.document;
      if (build !== undefined && build.done !== done) {
        done = build.done;
        onProgress?.(defined({ done, total: build.total }));
      }
      const left = [];
      for (const name of names) {
        const pointer = await pointers.get(name);
        const asked = await requests.get(name);
        if (asked !== undefined || (pointer?.document.generation ?? 0) <= (generations.get(name) ?? 0)) left.push(name);
      }
      if (left.length === 0) return;
      await delay(50);
    }
  } finally {
    await projector.stop();
  }
}
