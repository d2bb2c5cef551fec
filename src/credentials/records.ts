import type { Collection, DocumentStore, Documents, OperatedDocumentStore } from '../document-store/document-store.ts';
import { type Account, type AccountKey, accountKey, brandOf } from '../domain/account.ts';
import type {
  ApiKeyIssued,
  BrandReinstated,
  BrandSuspended,
  CalendarFeedAdded,
  DomainEvent,
} from '../domain/events.ts';
import type { ApiKeyId } from '../domain/ids.ts';
import { isKnown, knownEvent } from '../domain/known-event.ts';
import { picked } from '../domain/picked.ts';
import { streamOf } from '../domain/streams.ts';
import type { EventStore, Position, StoredEvent } from '../event-store/event-store.ts';
import { compareWithLog, forgetProgress, type LogProgress } from '../record-repair/log-progress.ts';

/** What an API key was issued for. It never changes. */
export type IssuedKey = {
  readonly apiKeyId: ApiKeyId;
  readonly account: Account;
  /** Sum of permission flags. */
  readonly permissions: number;
};

/** API keys by the SHA-256 of the key. */
export const ISSUED_KEYS: Collection<IssuedKey> = { name: 'apiKeyIndex', kind: 'record', indexes: [] };

/** A calendar feed. It never changes. */
export type IssuedFeed = Pick<
  CalendarFeedAdded['data'],
  'feedId' | 'userId' | 'account' | 'spaceId' | 'showsNames' | 'isDoor'
>;

/** Calendar feeds by the SHA-256 of the secret in their address. */
export const ISSUED_FEEDS: Collection<IssuedFeed> = { name: 'calendarFeedIndex', kind: 'record', indexes: [] };

/** Revoked API keys, removed webhook registrations and ended calendar feeds, by their id. */
export const ENDED: Collection<{ readonly by: EndingType }> = {
  name: 'endedCredentials',
  kind: 'record',
  indexes: [],
};

/** Whether an account is suspended, as of an event. */
export type Suspension = { readonly isSuspended: boolean; readonly position: Position };

/** Accounts that are suspended, or were, by their key. */
export const SUSPENSIONS: Collection<Suspension> = { name: 'suspendedAccounts', kind: 'record', indexes: [] };

/** Records whether an account is suspended, unless a later event is recorded. */
export async function recordSuspension(
  suspensions: Documents<Suspension>,
  account: AccountKey,
  suspension: Suspension,
): Promise<void> {
  await suspensions.update(account, (before) =>
    before !== undefined && before.position >= suspension.position ? undefined : suspension,
  );
}

/** The event that ended a credential. */
export type EndingType = 'ApiKeyRevoked' | 'WebhookRemoved' | 'CalendarFeedEnded';

const PROGRESS: LogProgress = { name: 'credentialsProgress', kind: 'record', indexes: [] };

/** The events that credentials have a record of. */
export const RECORDED_TYPES: readonly DomainEvent['type'][] = [
  'ApiKeyIssued',
  'ApiKeyRevoked',
  'WebhookRemoved',
  'CalendarFeedAdded',
  'CalendarFeedEnded',
  'BrandSuspended',
  'BrandReinstated',
];

export type RecordsDeps = {
  readonly events: Pick<EventStore, 'readAll' | 'lastEvent'>;
  readonly documents: Pick<DocumentStore, 'open'>;
};

/**
 * Adds the records that are missing: those of a process that died between event and record, and those that a restore of older records has
 * lost. Reads only the part of the log that the records have not been compared with.
 */
export async function addMissingRecords(deps: RecordsDeps): Promise<void> {
  const keys = await deps.documents.open(ISSUED_KEYS);
  const feeds = await deps.documents.open(ISSUED_FEEDS);
  const ended = await deps.documents.open(ENDED);
  const suspensions = await deps.documents.open(SUSPENSIONS);

  async function addKey(event: StoredEvent): Promise<void> {
    // The newer release that wrote an unknown version has added its record itself.
    if (!isKnown(event)) return;
    const { hash, apiKeyId, account, permissions } = knownEvent<ApiKeyIssued>(event).data;
    await keys.insert(hash, { apiKeyId, account, permissions });
  }

  async function addFeed(event: StoredEvent): Promise<void> {
    if (!isKnown(event)) return;
    const { hash, ...feed } = knownEvent<CalendarFeedAdded>(event).data;
    await feeds.insert(hash, issuedFeed(feed));
  }

  async function addSuspension(event: StoredEvent, isSuspended: boolean): Promise<void> {
    if (!isKnown(event)) return;
    const { data, position } = knownEvent<BrandSuspended | BrandReinstated>(event);
    await recordSuspension(suspensions, accountKey(brandOf(data)), { isSuspended, position });
  }

  await compareWithLog(deps, PROGRESS, RECORDED_TYPES, async (event) => {
    // The stream names the credential, so an event that this release cannot read ends it too.
    if (event.type === 'ApiKeyRevoked') await ended.insert(idIn(event, streamOf.apiKey('')), { by: event.type });
    else if (event.type === 'WebhookRemoved') await ended.insert(idIn(event, streamOf.webhook('')), { by: event.type });
    else if (event.type === 'CalendarFeedEnded') await ended.insert(String(event.data.feedId), { by: event.type });
    else if (event.type === 'CalendarFeedAdded') await addFeed(event);
    else if (event.type === 'BrandSuspended') await addSuspension(event, true);
    else if (event.type === 'BrandReinstated') await addSuspension(event, false);
    else await addKey(event);
  });
}

/**
 * The same from the whole log. For a restore or an import, whose records may lack any of them. Which accounts are suspended is what this log
 * says: its positions may be others.
 */
export async function addAllMissingRecords(
  deps: RecordsDeps & { readonly documents: Pick<OperatedDocumentStore, 'drop'> },
): Promise<void> {
  await deps.documents.drop(SUSPENSIONS.name);
  await forgetProgress(deps.documents, PROGRESS);
  await addMissingRecords(deps);
}

const idIn = ({ stream }: StoredEvent, prefix: string): string => stream.slice(prefix.length);

/** The record of a feed. */
export const issuedFeed = (feed: IssuedFeed): IssuedFeed =>
  picked(feed, ['feedId', 'userId', 'account', 'showsNames', 'spaceId', 'isDoor']);
