import type { EventStore } from '../event-store/event-store.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import type { ActorNames } from './actor-names.ts';

/** What queries read from. */
export type QuerySources = {
  readonly events: EventStore;
  readonly readModels: ReadModels;
  readonly personalData: PersonalData;
  readonly clock: Clock;
};

export type QueryDeps = QuerySources & { readonly names: ActorNames };
