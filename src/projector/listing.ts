import type { FailingReadModel } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import { openCurrentGeneration } from '../read-models/current-generation.ts';
import type { ProjectorDeps } from './projector.ts';
import { skippings } from './skipped-events.ts';

/** The read models of this release, for the operator. */
export async function listReadModels({
  events,
  documents,
  projections,
}: Pick<ProjectorDeps, 'events' | 'documents' | 'projections'>) {
  const generations = await openCurrentGeneration({ documents, projections });
  await generations.refresh();
  const [live, building] = [generations.live(), generations.building()];
  const { checkpoint } = live ?? building ?? {};
  const stateOf = (failure: FailingReadModel | undefined) => {
    if (failure !== undefined) return 'failing';
    if (live === undefined) return 'building';
    // While they are rebuilt, reads use the former documents.
    return building === undefined ? 'live' : 'rebuilding';
  };
  return Promise.all(
    projections.map(async (projection) => {
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
