import { setTimeout as delay } from 'node:timers/promises';
import { defined } from '../domain/defined.ts';
import { openProjectorState, put, SINGLETON_KEY } from '../read-models/projector-state.ts';
import { openProjector, type ProjectorOptions } from './projector.ts';

export type RebuildProgress = {
  /** Events read so far. */
  readonly done: number;
  /** Events to read; absent when nothing has counted them yet. */
  readonly total?: number;
};

/**
 * Builds read models anew beside the live ones and swaps them when they have caught up. The projector that holds the lease
 * does it, in whichever process; when there is none this process does.
 * @param names of the projections; default all
 * @throws when a name is not that of a projection, or the build was given up because `signal` was aborted
 */
export async function rebuild(
  options: ProjectorOptions & {
    readonly names?: readonly string[];
    readonly onProgress?: (progress: RebuildProgress) => void;
    readonly signal?: AbortSignal;
  },
): Promise<void> {
  const known = options.projections.map(({ name }) => name);
  const { names = known, onProgress, signal } = options;
  const strange = names.find((name) => !known.includes(name));
  if (strange !== undefined) throw new Error(`No read model is called ${strange}; there are ${known.join(', ')}`);

  const { pointers, requests, builds } = await openProjectorState(options.documents);
  const generations = new Map<string, number>();
  for (const name of names) {
    generations.set(name, (await pointers.get(name))?.document.generation ?? 0);
    await put(requests, name, { projection: name });
  }

  // Stands by while another process holds the lease, does the work when none does.
  const projector = await openProjector(options);
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
