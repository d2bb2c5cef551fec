import { createAccountHistory } from './account-history.ts';
import { createAccountQueries } from './accounts.ts';
import { createActorNames, type Directory } from './actor-names.ts';
import { createAdmissionQueries } from './admissions.ts';
import { createApiKeyQueries } from './api-keys.ts';
import { createAvailabilityQuery } from './availability.ts';
import { createBookingHistory } from './booking-history.ts';
import { createBookingSearch } from './booking-search.ts';
import { createBookingQueries } from './bookings.ts';
import { createBrandCharges } from './brand-charges.ts';
import { createCalendarQueries } from './calendar.ts';
import { createCalendarFeedQueries } from './calendar-feeds.ts';
import { createClosureQueries } from './closures.ts';
import { createCustomerQueries } from './customers.ts';
import { createDescriptionQueries } from './descriptions.ts';
import { createMonthCharges } from './month-charges.ts';
import { createOpenDaysQuery } from './open-days.ts';
import { createOperatorQueries } from './operator.ts';
import { createOutsideHours } from './outside-hours.ts';
import { createOverviewQueries } from './overview.ts';
import { createPhotoQueries } from './photos.ts';
import { createPublishedQueries } from './published.ts';
import type { QuerySources } from './query-deps.ts';
import { createQuestionQueries } from './questions.ts';
import { createReminderQueries } from './reminders.ts';
import { createReportQueries } from './report.ts';
import { createRequestQueries } from './requests.ts';
import { createReviewQueries } from './reviews.ts';
import { createSpaceChanges } from './space-changes.ts';
import { createSpaceRatingQueries } from './space-ratings.ts';
import { createSpaceSearch } from './space-search.ts';
import { createSpaceQueries } from './spaces.ts';
import { createThreadQueries } from './threads.ts';
import { createWebhookQueries } from './webhooks.ts';

/**
 * All queries of the service, for REST, MCP, console and command line. They apply the visibility rules of the asking account
 * (docs/decisions/accounts.md), except those for the operator, who sees everything.
 */
export type Queries = ReturnType<typeof createQueries>;

export function createQueries({ directory, ...sources }: QuerySources & { readonly directory: Directory }) {
  const accounts = createAccountQueries(sources);
  const deps = { ...sources, names: createActorNames({ ...sources, accounts, directory }) };
  const bookings = createBookingQueries(deps);
  const spaces = createSpaceQueries(deps);
  const openDays = createOpenDaysQuery(deps);
  const calendar = createCalendarQueries(deps);
  const closures = createClosureQueries(deps);
  const monthCharges = createMonthCharges(deps);
  const overview = createOverviewQueries(deps);
  return {
    accounts,
    admissions: createAdmissionQueries(deps),
    apiKeys: createApiKeyQueries(deps),
    availability: createAvailabilityQuery(deps),
    openDays,
    published: createPublishedQueries(deps, openDays),
    spaces,
    spaceChanges: createSpaceChanges(deps),
    spaceSearch: createSpaceSearch(deps),
    bookings,
    outsideHours: createOutsideHours(deps, bookings),
    bookingSearch: createBookingSearch(deps),
    reminders: createReminderQueries(deps),
    requests: createRequestQueries(deps),
    accountHistory: createAccountHistory(deps),
    bookingHistory: createBookingHistory(deps),
    calendarFeeds: createCalendarFeedQueries(deps, spaces),
    calendar,
    brandCharges: createBrandCharges(deps, spaces),
    closures,
    customers: createCustomerQueries(deps),
    descriptions: createDescriptionQueries(deps),
    overview,
    photos: createPhotoQueries(deps),
    monthCharges,
    report: createReportQueries({ ofEvents: monthCharges.ofEvents, closures, calendar, overview }),
    reviews: createReviewQueries(deps),
    threads: createThreadQueries(deps),
    questions: createQuestionQueries(deps, { spaces, accounts }),
    spaceRatings: createSpaceRatingQueries(deps),
    webhooks: createWebhookQueries(deps),
    operator: createOperatorQueries(deps),
  };
}
