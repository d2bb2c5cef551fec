import { generateKeyPair as generate } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'jose';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import type { Clock } from '../runtime/clock.ts';
import { purposes } from '../secrets/purposes.ts';
import { seal, unseal } from '../secrets/seal.ts';
import type { SecretKey } from '../secrets/secret-key.ts';

/** The only algorithm that tokens are signed with and that verifiers accept. */
export const SIGNING_ALGORITHM = 'RS256';

const HOUR_MS = 3_600_000;
/** How long a new key is published before it signs: verifiers cache the key set, some for a day. */
const PUBLISHED_BEFORE_SIGNING_MS = 24 * HOUR_MS;
/** How long an old key stays published. Access tokens live for an hour; an ID token may come back later as a logout hint. */
const KEPT_AFTER_SIGNING_MS = 24 * HOUR_MS;

type SigningKey = { readonly kid: string; readonly privateJwk: JWK; readonly publicJwk: JWK };

/** The keys at one moment. The first one signs; the others will sign later, or are older ones that still verify. */
export type KeySet = {
  /** Differs whenever the keys or their order differ. */
  readonly id: string;
  readonly keys: readonly [SigningKey, ...SigningKey[]];
};

type StoredKey = {
  readonly kid: string;
  readonly sealedJwk: string;
  readonly publicJwk: JWK;
  /** ISO 8601, UTC. */
  readonly signsFrom: string;
};
type KeysDocument = { readonly keys: readonly StoredKey[] };

const SIGNING_KEYS: Collection<KeysDocument> = { name: 'signingKeys', kind: 'record', indexes: [] };
const KEY = 'tokens';

const generateKeyPair = promisify(generate);

export type SigningKeys = Awaited<ReturnType<typeof createSigningKeys>>;

/**
 * The keys that sign tokens, sealed in the document store. The first process to start creates one in the background. `current` waits for
 * it, and fails if it could not be created.
 */
export async function createSigningKeys(deps: { documents: DocumentStore; secretKey: SecretKey; clock: Clock }) {
  const { secretKey, clock } = deps;
  const documents = await deps.documents.open(SIGNING_KEYS);
  let opened: KeySet | undefined;

  async function generateKey(signsFrom: number): Promise<StoredKey> {
    // Loaded here, to keep the start short.
    const { calculateJwkThumbprint, exportJWK } = await import('jose');
    const { privateKey, publicKey } = await generateKeyPair('rsa', { modulusLength: 2048 });
    const publicJwk = await exportJWK(publicKey);
    const kid = await calculateJwkThumbprint(publicJwk);
    const sealedJwk = seal(secretKey, purposes.signingKey(kid), JSON.stringify(await exportJWK(privateKey)));
    return { kid, sealedJwk, publicJwk, signsFrom: new Date(signsFrom).toISOString() };
  }

  async function makeFirst(): Promise<void> {
    await documents.insert(KEY, { keys: [await generateKey(clock())] });
  }
  const isThere = (await documents.get(KEY)) !== undefined;
  // Generating a key takes 50 to 300 ms; the start does not wait for it.
  const firstKey = isThere ? undefined : makeFirst();
  firstKey?.catch(() => {});

  async function stored() {
    await firstKey;
    const set = await documents.get(KEY);
    if (set === undefined) throw new Error('The signing keys are missing from the document store');
    return set;
  }

  /** The current key set, including changes by other processes. Cheap enough to call every time. */
  async function current(): Promise<KeySet> {
    const { document } = await stored();
    const ordered = inOrder(document.keys, clock());
    const id = ordered.map(({ kid }) => kid).join(' ');
    if (opened?.id === id) return opened;
    const [first, ...others] = ordered.map((key) => open(secretKey, key));
    if (first === undefined) throw new Error('There is no signing key');
    opened = { id, keys: [first, ...others] };
    return opened;
  }

  return {
    current,

    /** Throws if the stored keys were sealed with another secret key. Does not wait for a key that is being created. */
    async check(): Promise<void> {
      // A key being created is sealed with this secret key.
      if (isThere) await current();
    },

    /**
     * Creates a new key. It is published at once and signs 24 hours later, or at once with `now`; older keys stay until the tokens they
     * signed have expired (docs/decisions/credentials.md). @returns the new key's id and when it starts to sign (ISO 8601, UTC)
     */
    async rotate({ now = false } = {}): Promise<{ readonly kid: string; readonly signsFrom: string }> {
      const before = await stored();
      const key = await generateKey(clock() + (now ? 0 : PUBLISHED_BEFORE_SIGNING_MS));
      await documents.update(KEY, (set) => ({ keys: [...inOrder(set?.keys ?? [], clock()), key] }), { stored: before });
      return { kid: key.kid, signsFrom: key.signsFrom };
    },
  };
}

function open(secretKey: SecretKey, { kid, sealedJwk, publicJwk }: StoredKey): SigningKey {
  const shared = { kid, use: 'sig', alg: SIGNING_ALGORITHM };
  const privateJwk: JWK = JSON.parse(unseal(secretKey, purposes.signingKey(kid), sealedJwk));
  return { kid, privateJwk: { ...privateJwk, ...shared }, publicJwk: { ...publicJwk, ...shared } };
}

/** The signing key first, then upcoming and older ones, without those that are no longer published. */
function inOrder(keys: readonly StoredKey[], now: number): StoredKey[] {
  const newestFirst = keys.toSorted((a, b) => b.signsFrom.localeCompare(a.signsFrom));
  const upcoming = newestFirst.filter((key) => Date.parse(key.signsFrom) > now);
  const [signing, ...before] = newestFirst.filter((key) => Date.parse(key.signsFrom) <= now);
  if (signing === undefined) return newestFirst.toReversed();
  // A key stopped signing when its successor started.
  let successor = signing;
  const verifying: StoredKey[] = [];
  for (const key of before) {
    if (Date.parse(successor.signsFrom) + KEPT_AFTER_SIGNING_MS > now) verifying.push(key);
    successor = key;
  }
  return [signing, ...upcoming, ...verifying];
}
