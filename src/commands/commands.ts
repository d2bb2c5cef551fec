import { defined } from '../domain/defined.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { openDailyUses } from '../quotas/daily-use.ts';
import { createAdmissionCommands } from './admissions.ts';
import { createApiKeyCommands } from './api-keys.ts';
import { createBookingHome } from './booking-home.ts';
import { createMoveCommands } from './booking-moves.ts';
import { createBookingCommands } from './bookings.ts';
import { createCalendarFeedCommands } from './calendar-feeds.ts';
import { createRequestWithdrawal } from './cancel-pending.ts';
import { createCatalogueCommands } from './catalogue.ts';
import { createClosureImport } from './closure-import.ts';
import { createClosureCommands } from './closures.ts';
import type { CommandDeps, CommandSources } from './command-deps.ts';
import { type CommandObserver, createCommandHandler } from './command-handler.ts';
import { createCustomerCommands } from './customers.ts';
import { createMembershipCommands } from './membership.ts';
import { createPersonalDataCommands } from './personal-data.ts';
import { createPhotoCommands } from './photos.ts';
import { createQuestionCommands } from './questions.ts';
import { createReadModelCommands } from './read-models.ts';
import { createReviewCommands } from './reviews.ts';
import { createSequence } from './sequence.ts';
import { createThreadCommands } from './threads.ts';
import { createWebhookCommands } from './webhooks.ts';

/** Booking ids are reserved in blocks, because each reservation is an append (docs/decisions/event-log.md). */
const BOOKING_ID_BLOCK = 100;

export type Commands = Awaited<ReturnType<typeof createCommands>>;

/** Every command of the service. REST, MCP, console and command line all go through here. */
export async function createCommands({
  events,
  readModelWaitMs,
  observer,
  ...sources
}: CommandSources & {
  readonly events: EventStore;
  /** How long a command waits until the read models include its events, in milliseconds. Default 2 s. */
  readonly readModelWaitMs?: number;
  readonly observer?: CommandObserver;
}) {
  const { documents, readModels, personalData, clock, settings } = sources;
  const uses = await openDailyUses({ documents, clock, limits: settings.accountPerDay });
  const handler = createCommandHandler({
    events,
    clock,
    uses,
    waitFor: (position) => readModels.waitFor(position, defined({ timeoutMs: readModelWaitMs })),
    seal: personalData.sealEvent,
    ...defined({ observer }),
  });
  // No read model shows reserved ids, so there is nothing to wait for.
  const idHandler = createCommandHandler({ events, clock, waitFor: async () => {} });
  const deps: CommandDeps = {
    ...sources,
    handler,
    uses,
    ids: {
      bookings: createSequence(idHandler, 'bookings', BOOKING_ID_BLOCK),
      communities: createSequence(idHandler, 'communities', 1),
      spaces: createSequence(idHandler, 'spaces', 1),
      brands: createSequence(idHandler, 'brands', 1),
      reviews: createSequence(idHandler, 'reviews', 1),
    },
  };
  const closures = createClosureCommands(deps);
  const photos = createPhotoCommands({ ...deps, events });
  const home = createBookingHome(deps);
  const bookings = await createBookingCommands(deps, home);
  const admissions = createAdmissionCommands(deps, bookings);
  return {
    bookings,
    moves: createMoveCommands(deps, home),
    admissions,
    customers: await createCustomerCommands(deps, admissions),
    withdrawRequestsOf: createRequestWithdrawal(deps, bookings),
    catalogue: await createCatalogueCommands(deps, photos),
    closures,
    importClosures: createClosureImport({ closures, readModels }),
    membership: createMembershipCommands(deps),
    readModels: createReadModelCommands(deps),
    personalData: createPersonalDataCommands(deps),
    photos,
    reviews: createReviewCommands(deps),
    threads: createThreadCommands(deps),
    questions: createQuestionCommands(deps),
    apiKeys: await createApiKeyCommands(deps),
    calendarFeeds: createCalendarFeedCommands(deps),
    webhooks: await createWebhookCommands(deps),
  };
}
