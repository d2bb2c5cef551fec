import { isObject } from '../domain/is-object.ts';
import type { JsonObject, Position } from '../event-store/event-store.ts';

/** The declaration of a collection of records for a move. */
type RecordKind = {
  /** The field with the expiry, as declared: MongoDB needs it to remove expired documents. */
  readonly ttl?: string;
  /** Fields that hold a position in the log, or an object of positions. */
  readonly positions?: readonly string[];
  /** Whether it belongs to the store's location and is created again elsewhere. */
  readonly stays?: true;
  /**
   * Whether a store in use is asked for it after its log: the events name what these records hold, and were appended after it was stored.
   * 1 comes before 2.
   */
  readonly afterLog?: 1 | 2;
};

/**
 * Every collection of records. Unlisted ones belong to another release; their documents move unchanged. A test compares the list with the
 * declarations.
 */
export const RECORD_KINDS: { readonly [collection: string]: RecordKind } = {
  accountContacts: {},
  // Made from the users.
  accountMembers: { stays: true },
  apiKeyIndex: {},
  apiKeyQuotas: {},
  apiKeyUses: {},
  attemptCounts: { ttl: 'until' },
  calendarFeedIndex: {},
  clientQuotas: {},
  clientDocuments: { ttl: 'expiresAt' },
  // It is checked again at the new place.
  consoleFiles: { ttl: 'expiresAt', stays: true },
  consoleForms: { ttl: 'expiresAt' },
  consoleSessions: { ttl: 'expiresAt' },
  customerNames: { ttl: 'expiresAt' },
  credentialsProgress: { stays: true },
  dailyUse: {},
  demo: {},
  endedCredentials: {},
  formerSecretKeys: {},
  fanOutFailures: { positions: ['position'] },
  mailFailures: { positions: ['position'] },
  // A copy of a first start: it has addresses and texts, and is kept for a day only.
  mailInbox: { ttl: 'expiresAt', stays: true },
  mails: { ttl: 'expiresAt' },
  invitationQuotas: {},
  invitations: { ttl: 'expiresAt' },
  idempotencyKeys: { ttl: 'expiresAt' },
  mailPreferences: {},
  outboxMarks: { positions: ['handledTo'] },
  oauthArtefacts: { ttl: 'expiresAt' },
  oauthClients: { ttl: 'expiresAt' },
  // Seals hold no positions, and the target continues them (docs/decisions/seals.md).
  sealKeys: {},
  seals: {},
  sealsSent: {},
  sealTiles: {},
  pageViews: { ttl: 'expiresAt' },
  pendingContacts: { ttl: 'expiresAt' },
  photoFiles: { afterLog: 2 },
  photoParts: { afterLog: 2 },
  // Stored last, so that what it names is there.
  photos: { afterLog: 1 },
  requestQuotas: {},
  signUps: { ttl: 'expiresAt' },
  spaceQuotas: {},
  signingKeys: {},
  // The header holds the same information.
  storeIdentity: { stays: true },
  // The tombstone of a destroyed key moves with the others.
  subjectKeys: {},
  subjectKeysProgress: { stays: true },
  // Made from the log, whose positions they hold.
  suspendedAccounts: { stays: true },
  users: {},
  webhookDeliveries: { ttl: 'expiresAt', positions: ['position'] },
  webhookQuotas: {},
};

const kindOf = (collection: string): RecordKind =>
  Object.hasOwn(RECORD_KINDS, collection) ? (RECORD_KINDS[collection] ?? {}) : {};

export const ttlOf = (collection: string): string | undefined => kindOf(collection).ttl;
export const afterLogOf = (collection: string): number => kindOf(collection).afterLog ?? 0;
export const moves = (collection: string): boolean => kindOf(collection).stays === undefined;

/** The positions in a document; in an export, the ids of events that replace them. */
export function positionsIn(collection: string, document: JsonObject): Position[] {
  const positions: Position[] = [];
  withPositions(collection, document, (position) => {
    positions.push(position);
    return position;
  });
  return positions;
}

/** A document with its positions replaced. */
export function withPositions(
  collection: string,
  document: JsonObject,
  replace: (position: Position) => string,
): JsonObject {
  const fields = (kindOf(collection).positions ?? []).filter((field) => document[field] !== undefined);
  if (fields.length === 0) return document;
  const replaced = fields.map((field) => [field, replaceIn(document[field], replace)] as const);
  return { ...document, ...Object.fromEntries(replaced) };
}

type Value = JsonObject[string];

function replaceIn(value: Value | undefined, replace: (position: Position) => string): Value {
  if (typeof value === 'string') return replace(value);
  if (!isObject(value)) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaceIn(each, replace)]));
}
