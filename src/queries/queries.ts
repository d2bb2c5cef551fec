import type { EventStore } from '../event-store/event-store.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import { createAccountHistory } from './account-history.ts';
import { createAccountQueries } from './accounts.ts';
import { createActorNames, type Directory } from './actor-names.ts';
import { createApiKeyQueries } from './api-keys.ts';
import { createAvailabilityQuery } from './availability.ts';
import { createBookingHistory } from './booking-history.ts';
import { createBookingSearch } from './booking-search.ts';
import { createBookingQueries } from './bookings.ts';
import { createCharges } from './charges.ts';
import { createListVersions } from './list-versions.ts';
import { createMonthCharges } from './month-charges.ts';
import { createOpenDaysQuery } from './open-days.ts';
import { createOperatorQueries } from './operator.ts';
import { createRequestQueries } from './requests.ts';
import { createReviewQueries } from './reviews.ts';
import { createSpaceChanges } from './space-changes.ts';
import { createSpaceRatingQueries } from './space-ratings.ts';
import { createSpaceQueries } from './spaces.ts';
import { createWebhookQueries } from './webhooks.ts';

/**
 * All queries of the service, under the visibility rules of the asking account (docs/decisions/accounts.md). REST, MCP, console and
 * command line all use these; `operator` sees everything.
 */
export type Queries = ReturnType<typeof createQueries>;

export function createQueries(deps: {
  readonly events: EventStore;
  readonly readModels: ReadModels;
  readonly personalData: PersonalData;
  readonly clock: Clock;
  readonly directory: Directory;
}) {
  const { events, readModels, personalData, clock, directory } = deps;
  const accounts = createAccountQueries({ readModels });
  const names = createActorNames({ events, accounts, directory });
  return {
    accounts,
    apiKeys: createApiKeyQueries({ readModels }),
    availability: createAvailabilityQuery({ readModels, clock }),
    openDays: createOpenDaysQuery({ readModels, clock }),
    spaces: createSpaceQueries({ readModels }),
    spaceChanges: createSpaceChanges({ events, names }),
    bookings: createBookingQueries({ readModels, personalData }),
    bookingSearch: createBookingSearch({ readModels, personalData }),
    requests: createRequestQueries({ readModels, personalData }),
    accountHistory: createAccountHistory({ events, readModels, personalData, names }),
    bookingHistory: createBookingHistory({ events, readModels, personalData, names }),
    charges: createCharges({ events, clock }),
    monthCharges: createMonthCharges({ readModels }),
    reviews: createReviewQueries({ readModels, personalData }),
    spaceRatings: createSpaceRatingQueries({ readModels, personalData }),
    webhooks: createWebhookQueries({ readModels }),
    listVersions: createListVersions({ readModels, personalData }),
    operator: createOperatorQueries({ readModels, personalData }),
  };
}
