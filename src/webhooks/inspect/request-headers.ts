import type { Attempt } from '../delivery.ts';
import { CONTENT_TYPE, USER_AGENT } from '../send/sender.ts';
import { markOf, signatureHeaders } from '../send/signature.ts';

/**
 * The headers of an attempt, in the order in which they were sent; or why none are known. A value is undefined if nobody can tell it
 * any more, and `lacking` then says why.
 */
export type RequestHeaders =
  | { readonly sent: readonly (readonly [name: string, value: string | undefined])[]; readonly lacking?: string }
  | { readonly unknown: string };

/** Errors that come up before the first byte of a request is sent. */
const BEFORE_SENDING: ReadonlySet<string> = new Set(['Dns', 'Refused', 'Tls', 'Forbidden', 'Unreadable']);

/**
 * Makes the headers of an attempt again. Signatures are not kept: a signature can be sent again with its body, and would still tell
 * what an erased text said to whoever guesses it. They follow from the body, the time and the secret
 * (docs/decisions/webhook-deliveries.md).
 * @param body as it was sent; undefined if a text in it has been erased
 * @param secrets those of the registration that are still known
 */
export function requestHeaders({
  attempt: { url, error, signed },
  deliveryId,
  body,
  secrets,
}: {
  readonly attempt: Attempt;
  readonly deliveryId: string;
  readonly body: string | undefined;
  readonly secrets: readonly string[];
}): RequestHeaders {
  if (signed === undefined || (error !== undefined && BEFORE_SENDING.has(error.type)))
    return { unknown: 'Nothing was sent.' };
  const [first, second] = signed.with.map((mark) => secrets.find((secret) => markOf(secret) === mark));
  const areSecretsKnown = signed.with.length === 1 || second !== undefined;
  const signatures =
    body !== undefined && first !== undefined && areSecretsKnown
      ? signatureHeaders(second === undefined ? [first] : [first, second], { id: deliveryId, at: signed.at, body })
      : undefined;
  const lacking =
    body === undefined
      ? 'A text in the body has been erased, so what was made of the body as it was then is gone.'
      : 'It was signed with a secret that has been replaced since.';
  return {
    sent: [
      ['host', new URL(url).host],
      ['connection', 'keep-alive'],
      ['content-type', CONTENT_TYPE],
      ['x-service-signature', signatures?.['x-service-signature']],
      ['webhook-id', deliveryId],
      ['webhook-timestamp', String(Math.floor(signed.at / 1_000))],
      ['webhook-signature', signatures?.['webhook-signature']],
      ['user-agent', USER_AGENT],
      ['content-length', body === undefined ? undefined : String(Buffer.byteLength(body))],
    ],
    ...(signatures === undefined && { lacking }),
  };
}
