import { createHash, createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';

/** A new signing secret: `whsec_` and 32 random bytes in base64, the form of Standard Webhooks. */
export const newSigningSecret = (): string => PREFIX + randomBytes(32).toString('base64');

/**
 * `X-Service-Signature` (docs/decisions/webhook-deliveries.md): lower-case hex HMAC-SHA256 of the raw body, keyed with the
 * secret's own text.
 */
export const serviceSignature = (secret: string, body: string): string =>
  createHmac('sha256', secret).update(body).digest('hex');

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

function standardSignature(secret: string, content: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
}

/** Identifies a secret of a registration without revealing it. */
export const markOf = (secret: string): string => createHash('sha256').update(secret).digest('hex').slice(0, 8);
