import type { JsonObject, Position } from '../event-store/event-store.ts';

/** The declaration of a collection of records for a move. */
type RecordKind = {
  /** The field with the expiry, as declared: MongoDB needs it to remove expired documents. */
  readonly ttl?: string;
  /** Fields that hold positions in the log. */
  readonly positions?: readonly string[];
  /** Whether it belongs to the store's location and is created again elsewhere. */
  readonly stays?: true;
};

/**
 * Every collection of records. Unlisted ones belong to another release; their documents move unchanged. A test compares the list with the
 * declarations.
 */
export const RECORD_KINDS: { readonly [collection: string]: RecordKind } = {
  accountContacts: {},
  accountMembers: {},
  apiKeyIndex: {},
  apiKeyQuotas: {},
  apiKeyUses: {},
  calendarFeedIndex: {},
  clientQuotas: {},
  clientDocuments: { ttl: 'expiresAt' },
  consoleForms: { ttl: 'expiresAt' },
  consoleSessions: { ttl: 'expiresAt' },
  credentialsProgress: { stays: true },
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
  oauthArtefacts: { ttl: 'expiresAt' },
  oauthClients: { ttl: 'expiresAt' },
  // Seals hold no positions, and the target continues them (docs/decisions/seals.md).
  sealKeys: {},
  seals: {},
  sealsSent: {},
  sealTiles: {},
  pendingQuotas: {},
  spaceQuotas: {},
  signInAttempts: { ttl: 'until' },
  signingKeys: {},
  // The header and the groups hold the same information.
  storeIdentity: { stays: true },
  // The tombstone of a destroyed key moves with the others.
  subjectKeys: {},
  subjectKeysProgress: { stays: true },
  users: {},
  webhookDeliveries: { ttl: 'expiresAt', positions: ['position'] },
  webhookPlaces: {},
};

const kindOf = (collection: string): RecordKind =>
  Object.hasOwn(RECORD_KINDS, collection) ? (RECORD_KINDS[collection] ?? {}) : {};

export const ttlOf = (collection: string): string | undefined => kindOf(collection).ttl;
export const moves = (collection: string): boolean => kindOf(collection).stays === undefined;

/** The positions in a document; in an export, the ids of events that replace them. */
export function positionsIn(collection: string, document: JsonObject): Position[] {
  const fields = kindOf(collection).positions ?? [];
  return fields.map((field) => document[field]).filter((value) => typeof value === 'string');
}

/** A document with its positions replaced. */
export function withPositions(
  collection: string,
  document: JsonObject,
  replace: (position: Position) => string,
): JsonObject {
  const fields = kindOf(collection).positions ?? [];
  const replaced = fields.flatMap((field) => {
    const value = document[field];
    return typeof value === 'string' ? [[field, replace(value)] as const] : [];
  });
  return replaced.length === 0 ? document : { ...document, ...Object.fromEntries(replaced) };
}
