import { traceparentOf } from '../../http/trace.ts';
import { type Attempt, type DeliveryDocument, traceOf } from '../delivery.ts';
import { CONTENT_TYPE, USER_AGENT } from '../send/sender.ts';
import { markOf, signatureHeaders } from '../send/signature.ts';

/**
 * The headers of an attempt, in the order in which they were sent, or why they are unknown. A value is undefined if it can no longer be
 * computed; `lacking` then says why.
 */
export type RequestHeaders =
  | { readonly sent: readonly (readonly [name: string, value: string | undefined])[]; readonly lacking?: string }
  | { readonly unknown: string };

/** Errors that come up before the first byte of a request is sent. */
const BEFORE_SENDING: ReadonlySet<string> = new Set(['Dns', 'Refused', 'Tls', 'Forbidden', 'Unreadable']);

/**
 * Recomputes the headers of an attempt from the body, the time and the secrets (docs/decisions/webhook-deliveries.md). Signatures are not
 * stored: they could be replayed with their body, and could confirm a guess of an erased text.
 * @param body as it was sent; undefined if a text in it has been erased
 * @param secrets those of the registration that are still known
 */
export function requestHeaders({
  attempt: { url, error, signed },
  delivery,
  body,
  secrets,
}: {
  readonly attempt: Attempt;
  readonly delivery: Pick<DeliveryDocument, 'deliveryId' | 'eventId' | 'trace'>;
  readonly body: string | undefined;
  readonly secrets: readonly string[];
}): RequestHeaders {
  if (signed === undefined || (error !== undefined && BEFORE_SENDING.has(error.type)))
    return { unknown: 'Nothing was sent.' };
  const [first, ...others] = signed.with.flatMap((mark) => secrets.filter((secret) => markOf(secret) === mark));
  const signatures =
    body !== undefined && first !== undefined && others.length === signed.with.length - 1
      ? signatureHeaders([first, ...others], { id: delivery.deliveryId, at: signed.at, body })
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
      ['webhook-id', delivery.deliveryId],
      ['webhook-timestamp', String(Math.floor(signed.at / 1_000))],
      ['webhook-signature', signatures?.['webhook-signature']],
      ['traceparent', traceparentOf(traceOf(delivery), signed.parentId)],
      ['user-agent', USER_AGENT],
      ['content-length', body === undefined ? undefined : String(Buffer.byteLength(body))],
    ],
    ...(signatures === undefined && { lacking }),
  };
}
