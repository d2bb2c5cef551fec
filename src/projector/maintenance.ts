import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import { roomProblem } from '../document-store/room.ts';
import { listReadModels, type ReadModelListing } from './listing.ts';
import type { ProjectorDeps } from './projector.ts';
import type { RebuildProgress } from './rebuild.ts';
import type { Verification } from './verify.ts';

type OnProgress = (progress: RebuildProgress) => void;

/** An operator's tasks around read models, whether or not the service is running. */
export type Maintenance = {
  /** The read models of this release: state, progress and skipped events. */
  readModels(): Promise<ReadModelListing[]>;
  /** Rebuilds read models beside the live ones. @throws for an unknown name, or without room on the disk */
  rebuild(options: { readonly names: readonly string[]; readonly onProgress: OnProgress }): Promise<void>;
  /** Replays the log and compares every document of the read models. */
  verify(options: { readonly onProgress: OnProgress }): Promise<Verification>;
};

export function createMaintenance(
  deps: Pick<ProjectorDeps, 'events' | 'documents' | 'projections'> & {
    readonly openScratch: (folder: string) => Promise<OperatedDocumentStore>;
  },
): Maintenance {
  return {
    readModels: () => listReadModels(deps),
    // Imported on use, to save startup time.
    rebuild: async (options) => {
      const problem = await roomProblem(deps.documents);
      if (problem !== undefined) throw new Error(problem);
      await (await import('./rebuild.ts')).rebuild({ ...deps, ...options });
    },
    verify: async (options) => (await import('./verify.ts')).verify({ ...deps, ...options }),
  };
}
