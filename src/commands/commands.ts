import type { Credentials } from '../credentials/credentials.ts';
import type { DocumentStore, DocumentStoreOperations } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';
import { openDailyUses, type Use } from '../quotas/daily-use.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { type ApiKeyCommands, createApiKeyCommands } from './api-keys.ts';
import { type BookingCommands, createBookingCommands } from './bookings.ts';
import { type CalendarFeedCommands, createCalendarFeedCommands } from './calendar-feeds.ts';
import { type CatalogueCommands, createCatalogueCommands } from './catalogue.ts';
import { type ClosureImport, createClosureImport } from './closure-import.ts';
import { type ClosureCommands, createClosureCommands } from './closures.ts';
import { type CommandObserver, createCommandHandler } from './command-handler.ts';
import { openIdempotencyKeys } from './idempotency-keys.ts';
import { createMembershipCommands, type MembershipCommands } from './membership.ts';
import { bookingStatuses, openPendingQuota } from './pending-quota.ts';
import { createPersonalDataCommands, type PersonalDataCommands } from './personal-data.ts';
import { createReadModelCommands, type ReadModelCommands } from './read-models.ts';
import { createReviewCommands, type ReviewCommands } from './reviews.ts';
import { createSequence, type SequenceName } from './sequence.ts';
import { createWebhookCommands, type WebhookCommands } from './webhooks.ts';

/** Every command of the service. REST, MCP, console and command line all go through here. */
export type Commands = {
  readonly bookings: BookingCommands;
  readonly catalogue: CatalogueCommands;
  readonly closures: ClosureCommands;
  readonly importClosures: ClosureImport;
  readonly reviews: ReviewCommands;
  readonly apiKeys: ApiKeyCommands;
  readonly calendarFeeds: CalendarFeedCommands;
  readonly webhooks: WebhookCommands;
  readonly membership: MembershipCommands;
  readonly readModels: ReadModelCommands;
  readonly personalData: PersonalDataCommands;
};

/** Booking ids are reserved in blocks, because each reservation is an append (docs/decisions/event-log.md). */
const BOOKING_ID_BLOCK = 100;

export async function createCommands(deps: {
  readonly events: EventStore;
  readonly documents: DocumentStore & Pick<DocumentStoreOperations, 'now'>;
  readonly readModels: ReadModels;
  readonly personalData: PersonalData;
  readonly credentials: Pick<Credentials, 'add' | 'addFeed' | 'end'>;
  readonly clock: Clock;
  readonly settings: {
    readonly serviceFeePercent: number;
    readonly currency: string;
    /** How many pending requests a brand may have. Undefined: any number. */
    readonly pendingLimit?: number | undefined;
    readonly secretKey: SecretKey;
    readonly webhooksPerAccount: number;
    readonly apiKeysPerAccount: number;
    readonly spacesPerCommunity: number;
    /** What one account may write in a day. */
    readonly accountPerDay: Use;
  };
  /** How long a command waits until the read models include its events, in milliseconds. Default 2 s. */
  readonly readModelWaitMs?: number;
  readonly observer?: CommandObserver;
  readonly makeSigningSecret: () => string;
  readonly urlProblem: (url: string) => string | undefined;
}): Promise<Commands> {
  const { events, documents, readModels, personalData, credentials, clock, settings } = deps;
  const uses = await openDailyUses({ documents, clock, limits: settings.accountPerDay });
  const handler = createCommandHandler({
    events,
    clock,
    uses,
    waitFor: (position) => readModels.waitFor(position, defined({ timeoutMs: deps.readModelWaitMs })),
    seal: personalData.sealEvent,
    ...defined({ observer: deps.observer }),
  });
  const pendingQuota = async () => {
    const { pendingLimit: limit } = settings;
    if (limit === undefined) return undefined;
    return openPendingQuota({ documents, limit, statuses: bookingStatuses({ readModels, handler, clock }) });
  };
  // No read model shows reserved ids, so there is nothing to wait for.
  const idHandler = createCommandHandler({ events, clock, waitFor: async () => {} });
  const sequence = (name: SequenceName, blockSize = 1) => createSequence(idHandler, name, blockSize);
  const closures = createClosureCommands({ handler, readModels, personalData, clock, uses });

  return {
    bookings: createBookingCommands({
      handler,
      readModels,
      personalData,
      clock,
      pendingQuota: await pendingQuota(),
      idempotencyKeys: await openIdempotencyKeys(documents, clock),
      ids: sequence('bookings', BOOKING_ID_BLOCK),
      pricing: { serviceFeePercent: settings.serviceFeePercent, currency: settings.currency },
    }),
    catalogue: await createCatalogueCommands({
      handler,
      documents,
      readModels,
      clock,
      spacesPerCommunity: settings.spacesPerCommunity,
      ids: { communities: sequence('communities'), spaces: sequence('spaces'), brands: sequence('brands') },
    }),
    closures,
    importClosures: createClosureImport({ closures, readModels }),
    membership: createMembershipCommands({ handler }),
    readModels: createReadModelCommands({ handler }),
    personalData: createPersonalDataCommands({ handler, personalData, clock }),
    reviews: createReviewCommands({ handler, readModels, ids: sequence('reviews') }),
    apiKeys: await createApiKeyCommands({
      handler,
      documents,
      readModels,
      credentials,
      perAccount: settings.apiKeysPerAccount,
    }),
    calendarFeeds: createCalendarFeedCommands({ handler, credentials }),
    webhooks: await createWebhookCommands({
      handler,
      documents,
      readModels,
      credentials,
      clock,
      settings,
      makeSigningSecret: deps.makeSigningSecret,
      urlProblem: deps.urlProblem,
    }),
  };
}
