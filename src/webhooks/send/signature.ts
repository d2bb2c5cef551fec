import { createHash, createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { createLruCache } from '../../runtime/lru-cache.ts';

const PREFIX = 'whsec_';

/** A new signing secret: `whsec_` and 32 random bytes in base64, the form of Standard Webhooks. */
export const newSigningSecret = (): string => PREFIX + randomBytes(32).toString('base64');

/**
 * `X-Service-Signature` (docs/decisions/webhook-deliveries.md): lower-case hex HMAC-SHA256 of the raw body, keyed with the
 * secret's own text.
 */
export const serviceSignature = (secret: string, body: string): string =>
  createHmac('sha256', hmacKeys(secret).text).update(body).digest('hex');

/** The signed input. `id` is the same in all attempts; `at` is the time of this attempt, in milliseconds since the epoch. */
export type Signed = { readonly id: string; readonly at: number; readonly body: string };

/**
 * The signature headers of one attempt, in both families: `X-Service-Signature` and those of Standard Webhooks.
 *
 * After a rotation several secrets are valid. By its standard, `webhook-signature` is a list, so it carries a signature for each.
 * `X-Service-Signature` is compared with a single value, so several signatures in it would fail for every secret: it is made with
 * `first` alone. A receiver that has another secret responds with 401 (docs/guides/webhooks.md#answer-in-time), and the deliverer then
 * repeats the attempt immediately with the next secret first.
 */
export function signatureHeaders(secrets: Secrets, { id, at, body }: Signed): Record<string, string> {
  const seconds = Math.floor(at / 1_000);
  const content = `${id}.${seconds}.${body}`;
  return {
    'x-service-signature': serviceSignature(secrets[0], body),
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map((secret) => standardSignature(secret, content)).join(' '),
  };
}

/** One secret, or several for a day after a rotation. */
export type Secrets = readonly [first: string, ...others: string[]];

const standardSignature = (secret: string, content: string): string =>
  `v1,${createHmac('sha256', hmacKeys(secret).bytes).update(content).digest('base64')}`;

/** Identifies a secret of a registration without revealing it. */
export const markOf = (secret: string): string => hmacKeys(secret).mark;

/** A secret as the two families use it: its text, and the bytes that its base64 encodes. `mark` is the start of its digest. */
type Keys = { readonly text: KeyObject; readonly bytes: KeyObject; readonly mark: string };
const cachedKeys = createLruCache<string, Keys>(1_000);

function hmacKeys(secret: string): Keys {
  const cached = cachedKeys.get(secret);
  if (cached !== undefined) return cached;
  const keys = {
    text: createSecretKey(secret, 'utf8'),
    bytes: createSecretKey(secret.slice(PREFIX.length), 'base64'),
    mark: createHash('sha256').update(secret).digest('hex').slice(0, 8),
  };
  cachedKeys.set(secret, keys);
  return keys;
}
