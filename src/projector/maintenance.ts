import type { DocumentStore } from '../document-store/document-store.ts';
import type { EventStore, ParkedEvent } from '../event-store/event-store.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { ProjectorOptions } from './projector.ts';
import type { RebuildProgress } from './rebuild.ts';
import type { Verification } from './verify.ts';

type OnProgress = (progress: RebuildProgress) => void;

/** What an operator does to the log's readers, beside a running service or without it. */
export type Maintenance = {
  /**
   * Waits until the read models show all that stands in the log now, whichever process projects.
   * @returns false when they did not in time
   */
  catchUp(timeoutMs: number): Promise<boolean>;
  /** Builds read models anew beside the live ones. @throws when a name is not that of a projection */
  rebuild(options: { readonly names: readonly string[]; readonly onProgress: OnProgress }): Promise<void>;
  /** Replays the log and compares every document of the read models. */
  verify(options: { readonly onProgress: OnProgress }): Promise<Verification>;
  /** Events that a consumer group could not handle. */
  parked(group: string): AsyncIterable<ParkedEvent>;
  /** Hands one of them, or all, to the group again; answers how many. */
  replayParked(group: string, id?: string): Promise<number>;
};

export function createMaintenance(
  deps: Pick<ProjectorOptions, 'events' | 'documents' | 'projections' | 'clock' | 'logger'> & {
    readonly readModels: ReadModels;
    readonly openScratch: (folder: string) => Promise<DocumentStore>;
  },
): Maintenance {
  const { events, readModels } = deps;
  return {
    async catchUp(timeoutMs) {
      const end = await logEnd(events);
      return end === undefined || readModels.waitFor(end, timeoutMs);
    },
    // Loaded when they are used: a start of the service needs neither.
    rebuild: async (options) => (await import('./rebuild.ts')).rebuild({ ...deps, ...options }),
    verify: async (options) => (await import('./verify.ts')).verify({ ...deps, ...options }),
    parked: (group) => events.parked(group),
    replayParked: (group, id) => events.replayParked(group, id),
  };
}

async function logEnd(events: EventStore) {
  for await (const { position } of events.readAll({ direction: 'backward', limit: 1 })) return position;
  return undefined;
}
