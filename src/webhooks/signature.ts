import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';

const PREFIX = 'whsec_';

/** A new signing secret: `whsec_` and 32 random bytes in base64, the form of Standard Webhooks. */
export const newSigningSecret = (): string => PREFIX + randomBytes(32).toString('base64');

/**
 * `X-Service-Signature` (docs/decisions/webhook-signature.md): lower-case hex HMAC-SHA256 of the raw body, keyed with the
 * secret's own text.
 */
export const serviceSignature = (secret: string, body: string): string =>
  createHmac('sha256', keysOf(secret).text).update(body).digest('hex');

/** What is signed. `id` stays the same over all attempts; `at` is the moment of this one, in milliseconds. */
export type Signed = { readonly id: string; readonly at: number; readonly body: string };

/**
 * The signature headers of one attempt, in both families: `X-Service-Signature` and those of Standard Webhooks.
 *
 * During a rotation two secrets are valid. `webhook-signature` is a list by its standard and carries a value for each. A
 * plain receiver compares `X-Service-Signature` with one value, so two values in it would fail receivers of either secret. It
 * holds the signature of `first` alone; a receiver that still has the other secret answers 401
 * (docs/specification.md#events), and the deliverer then sends the same attempt again at once with the secrets the other way
 * round.
 */
export function signatureHeaders([first, second]: Secrets, { id, at, body }: Signed): Record<string, string> {
  const seconds = Math.floor(at / 1_000);
  const content = `${id}.${seconds}.${body}`;
  const standard = standardSignature(first, content);
  return {
    'x-service-signature': serviceSignature(first, body),
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': second === undefined ? standard : `${standard} ${standardSignature(second, content)}`,
  };
}

/** One secret, or two while a rotation overlaps. */
export type Secrets = readonly [first: string, second?: string];

const standardSignature = (secret: string, content: string): string =>
  `v1,${createHmac('sha256', keysOf(secret).bytes).update(content).digest('base64')}`;

/** A secret as the two families use it: its own text, and the bytes that its base64 stands for. */
type Keys = { readonly text: KeyObject; readonly bytes: KeyObject };
const knownKeys = new LRUCache<string, Keys>({ max: 1_000 });

function keysOf(secret: string): Keys {
  const known = knownKeys.get(secret);
  if (known !== undefined) return known;
  const keys = {
    text: createSecretKey(secret, 'utf8'),
    bytes: createSecretKey(secret.slice(PREFIX.length), 'base64'),
  };
  knownKeys.set(secret, keys);
  return keys;
}
