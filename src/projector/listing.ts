import type { FailingReadModel } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import type { ProjectionEventSkipped } from '../domain/events.ts';
import { openCurrentGeneration } from '../read-models/current-generation.ts';
import type { ProjectorDeps } from './projector.ts';
import { skippings } from './skipped-events.ts';

/** A read model in the operator's listing. */
export type ReadModelListing = {
  readonly name: string;
  readonly version: number;
  /** `building`: not readable yet. `rebuilding`: reads use the former documents. */
  readonly state: 'live' | 'building' | 'rebuilding' | 'failing';
  /** Events folded so far. */
  readonly events: number;
  readonly failure?: FailingReadModel;
  readonly skipped: readonly Skipped[];
};

type Skipped = ProjectionEventSkipped['data'] & { readonly at: string; readonly by: string };

/** The read models of this release. */
export async function listReadModels({
  events,
  documents,
  projections,
}: Pick<ProjectorDeps, 'events' | 'documents' | 'projections'>): Promise<ReadModelListing[]> {
  const generations = await openCurrentGeneration({ documents, projections });
  await generations.refresh();
  const [live, building] = [generations.live(), generations.building()];
  const { checkpoint } = live ?? building ?? {};
  const stateOf = (failure: FailingReadModel | undefined) => {
    if (failure !== undefined) return 'failing';
    if (live === undefined) return 'building';
    return building === undefined ? 'live' : 'rebuilding';
  };
  return Promise.all(
    projections.map(async (projection): Promise<ReadModelListing> => {
      const { name, version } = projection;
      const failure = checkpoint?.failing.find((each) => each.name === name);
      const skipped = await Array.fromAsync(skippings(events, projection), ({ data, metadata: { at, actor } }) => ({
        ...data,
        at,
        by: `${actor.kind} ${actor.id}`,
      }));
      return {
        name,
        version,
        state: stateOf(failure),
        events: checkpoint?.events ?? 0,
        ...defined({ failure }),
        skipped,
      };
    }),
  );
}
