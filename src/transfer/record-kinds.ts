import type { JsonObject, Position } from '../event-store/event-store.ts';

/** What a move has to know of a collection of records besides its documents. */
type RecordKind = {
  /** As declared: MongoDB needs it to remove documents that have expired. */
  readonly ttl?: string;
  /** Fields that hold positions in the log. */
  readonly positions?: readonly string[];
  /** Fields that say something of the machine that the store is on. */
  readonly ofMachine?: readonly string[];
  /** It belongs to the store's location and is made again elsewhere. */
  readonly stays?: true;
};

/**
 * Every collection of records. One that is not listed is one of another release; its documents move as they stand. A test compares the
 * list with the declarations.
 */
export const RECORD_KINDS: { readonly [collection: string]: RecordKind } = {
  apiKeyIndex: {},
  apiKeyIndexProgress: { positions: ['position'] },
  apiKeyUses: {},
  clientDocuments: { ttl: 'expiresAt' },
  consoleForms: { ttl: 'expiresAt' },
  consoleSessions: { ttl: 'expiresAt' },
  demo: {},
  formerSecretKeys: {},
  fanOutFailures: { positions: ['position'] },
  idempotencyKeys: { ttl: 'expiresAt' },
  // How far the clock was ahead of the time for which the machine has been running.
  machineClock: { positions: ['acceptedAt'], ofMachine: ['since', 'offset'] },
  oauthArtefacts: { ttl: 'expiresAt' },
  oauthClients: { ttl: 'expiresAt' },
  // Seals hold no positions, and the target goes on with them (docs/decisions/seals.md).
  sealKeys: {},
  seals: {},
  sealsSent: {},
  sealTiles: {},
  pendingQuotas: {},
  signInAttempts: { ttl: 'until' },
  signingKeys: {},
  // The header and the groups say what it says.
  storeIdentity: { stays: true },
  // What is left of a key that was destroyed moves with the others.
  subjectKeys: {},
  subjectKeysProgress: { stays: true },
  users: {},
  webhookDeliveries: { ttl: 'expiresAt', positions: ['position'] },
  webhookPlaces: {},
  webhookRunningTime: {},
};

const kindOf = (collection: string): RecordKind => RECORD_KINDS[collection] ?? {};

export const ttlOf = (collection: string): string | undefined => kindOf(collection).ttl;
export const moves = (collection: string): boolean => kindOf(collection).stays === undefined;

/** The positions that a document holds, or what stands for them in an export. */
export function positionsIn(collection: string, document: JsonObject): Position[] {
  const fields = kindOf(collection).positions ?? [];
  return fields.map((field) => document[field]).filter((value) => typeof value === 'string');
}

/** A document with something else in place of its positions. */
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

/** A document without what it says of the machine; undefined if that was all. */
export function withoutMachine(collection: string, document: JsonObject): JsonObject | undefined {
  const fields = kindOf(collection).ofMachine;
  if (fields === undefined) return document;
  const left = Object.entries(document).filter(([field]) => !fields.includes(field));
  return left.length === 0 ? undefined : Object.fromEntries(left);
}
