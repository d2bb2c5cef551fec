import { createBookingHistory } from './booking-history.ts';
import type { Clock } from '../runtime/clock.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import { createAccountQueries } from './accounts.ts';
import { createApiKeyQueries } from './api-keys.ts';
import { createAvailabilityQuery } from './availability.ts';
import { createBookingQueries } from './bookings.ts';
import { createReviewQueries } from './reviews.ts';
import { createSpaceQueries } from './spaces.ts';
import { createWebhookQueries } from './webhooks.ts';

/**
 * Everything that can be asked of the service, under the visibility rules of the account that asks. REST, MCP and console
 * all go through here.
 */
export type Queries = ReturnType<typeof createQueries>;

export function createQueries(parts: {
  readonly events: EventStore;
  readonly readModels: ReadModels;
  readonly clock: Clock;
}) {
  return {
    accounts: createAccountQueries(parts),
    apiKeys: createApiKeyQueries(parts),
    availability: createAvailabilityQuery(parts),
    spaces: createSpaceQueries(parts),
    bookings: createBookingQueries(parts),
    bookingHistory: createBookingHistory(parts),
    reviews: createReviewQueries(parts),
    webhooks: createWebhookQueries(parts),
  };
}
