import { defined } from '../domain/defined.ts';
import type { ProjectionEventSkipped } from '../domain/events.ts';
import { type Failure, idOf, isUnreadable, openCatalogue } from '../read-models/catalogue.ts';
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
  readonly failure?: Failure;
  readonly skipped: readonly Skipped[];
};

type Skipped = ProjectionEventSkipped['data'] & { readonly at: string; readonly by: string };

/** The read models of this release. */
export async function listReadModels({
  events,
  documents,
  projections,
}: Pick<ProjectorDeps, 'events' | 'documents' | 'projections'>): Promise<ReadModelListing[]> {
  const { models } = (await (await openCatalogue(documents)).read()).document;
  const checkpoints = await documents.checkpoints();
  return Promise.all(
    projections.map(async (projection): Promise<ReadModelListing> => {
      const { name, version } = projection;
      const { live, building, failure } = models[idOf(projection)] ?? {};
      const isFailing = isUnreadable(defined({ live, failure }));
      const skipped = await Array.fromAsync(skippings(events, projection), ({ data, metadata: { at, actor } }) => ({
        ...data,
        at,
        by: `${actor.kind} ${actor.id}`,
      }));
      const current = live ?? building;
      const state = isFailing
        ? 'failing'
        : live === undefined
          ? 'building'
          : building === undefined
            ? 'live'
            : 'rebuilding';
      const { events: done = 0 } = checkpoints.get(current ?? '') ?? {};
      return { name, version, state, events: done, ...defined({ failure }), skipped };
    }),
  );
}
