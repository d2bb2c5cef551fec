import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import { roomProblem } from '../document-store/room.ts';
import { listReadModels, type ReadModelListing } from './listing.ts';
import type { ProjectorDeps } from './projector.ts';
import type { RebuildProgress } from './rebuild.ts';
import type { Verification } from './verify.ts';

type OnProgress = (progress: RebuildProgress) => void;

export type Maintenance = ReturnType<typeof createMaintenance>;

/** An operator's tasks around read models, whether or not the service is running. */
export function createMaintenance(
  deps: Pick<ProjectorDeps, 'events' | 'documents' | 'projections' | 'heartbeats' | 'logger'> & {
    readonly openScratch: (folder: string) => Promise<OperatedDocumentStore>;
  },
) {
  return {
    /** The read models of this release: state, progress and skipped events. */
    readModels: (): Promise<ReadModelListing[]> => listReadModels(deps),
    /** Rebuilds the read models beside the live ones. @throws without room on the disk */
    async rebuild(options: { readonly onProgress: OnProgress }): Promise<void> {
      const problem = await roomProblem(deps.documents);
      if (problem !== undefined) throw new Error(problem);
      // Imported on use, to save startup time.
      await (await import('./rebuild.ts')).rebuild({ ...deps, ...options });
    },
    /** Replays the log and compares every document of the read models. */
    verify: async (options: { readonly onProgress: OnProgress }): Promise<Verification> =>
      (await import('./verify.ts')).verify({ ...deps, ...options }),
  };
}
