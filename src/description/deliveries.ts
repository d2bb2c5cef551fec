import { WebhookPayloads } from '../contract/schemas/webhook-payload.ts';
import { keysOf } from '../domain/keys-of.ts';
import { WEBHOOK_EVENTS } from '../domain/webhook.ts';
import type { Components, JsonSchema } from './components.ts';
import type { Operation } from './document.ts';
import type { Examples } from './examples.ts';

const HAPPENED: { readonly [K in keyof typeof WebhookPayloads]: string } = {
  BookingRequested: 'A brand requested a booking',
  BookingApproved: 'A community approved a booking',
  BookingCancelled: 'A booking was declined, cancelled or not answered in time',
  BookingMoved: 'A booking was moved to another date, hour or space',
  ReviewPosted: 'A brand reviewed a completed booking',
  Test: 'A member of the account sends a test delivery from the console',
};

const HEADERS: { readonly [name: string]: { readonly schema: JsonSchema; readonly description: string } } = {
  'X-Service-Signature': {
    schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    description:
      'HMAC-SHA256 of the raw body in lower-case hex. The key is the text of `signingSecret`, `whsec_` included.',
  },
  'webhook-id': {
    schema: { type: 'string' },
    description: 'Identifies the delivery; the same in every attempt.',
  },
  'webhook-timestamp': {
    schema: { type: 'string', pattern: '^[0-9]+$' },
    description: 'When this attempt was made, in seconds since 1970-01-01T00:00:00Z.',
  },
  'webhook-signature': {
    schema: { type: 'string', pattern: '^v1,[A-Za-z0-9+/]+=*( v1,[A-Za-z0-9+/]+=*){0,2}$' },
    description:
      'The signature of Standard Webhooks: `v1,` and the base64 of an HMAC-SHA256 over ' +
      '`webhook-id.webhook-timestamp.body`. The key is what `signingSecret` encodes after `whsec_`. A replaced ' +
      'secret also signs for 24 hours: then there are two or three, separated by blanks.',
  },
};

const ANSWERS = {
  '2XX': { description: 'Delivered. Answer within 5 seconds, even if you do not know the event.' },
  '401': {
    description:
      'The signature is wrong. While several secrets are valid, the delivery is sent again at once, signed with the next.',
  },
  '410': { description: 'The endpoint is gone: disables the webhook.' },
  default: {
    description: 'Any other status, and no answer within 5 seconds, is a failure: the delivery is tried again.',
  },
};

/** The `webhooks` of the description: the deliveries, and the effect of each answer. */
export function describeDeliveries(
  { refer }: Components,
  { deliveries }: Examples,
): { readonly [event: string]: { readonly post: Operation } } {
  return Object.fromEntries(
    keysOf(WebhookPayloads).map((event): [string, { post: Operation }] => {
      const example = deliveries[event];
      if (example === undefined) throw new Error(`There is no example of a ${event} delivery`);
      const value = event === 'Test' ? 'sent to every subscription' : `value ${WEBHOOK_EVENTS[event]}`;
      const post: Operation = {
        operationId: `on${event}`,
        tags: ['Deliveries'],
        summary: HAPPENED[event],
        description: `${HAPPENED[event]} (${value}). See [Deliveries](#tag/Deliveries) for signatures, retries and order.`,
        security: [],
        parameters: Object.entries(HEADERS).map(([name, { schema, description }]) => ({
          name,
          in: 'header',
          required: true,
          description,
          schema,
          example: example.headers[name.toLowerCase()],
        })),
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: refer(WebhookPayloads[event]),
              examples: { delivery: { summary: HAPPENED[event], value: JSON.parse(example.body) } },
            },
          },
        },
        responses: ANSWERS,
      };
      return [event, { post }];
    }),
  );
}
