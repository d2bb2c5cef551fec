import { noticeOf } from '../../src/contract/webhook-payload.ts';
import type { Core } from '../../src/core.ts';
import { type Account, accountKey } from '../../src/domain/account.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { webhookId as toWebhookId } from '../../src/domain/ids.ts';
import { type DeliveryDocument, DUE_NOW, deliveryCollection, newDelivery } from '../../src/webhooks/delivery.ts';
import { accepted } from '../accepted.ts';
import { approved, cancelled, requested, reviewed } from '../webhooks/deliverable-events.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'busy' }, correlationId: 'busy' } as const;
const MINUTE_MS = 60_000;
/** Deliveries inserted at once, so that they share commits. */
const AT_A_TIME = 200;

const KINDS = [requested, approved, () => cancelled({ cancelledBy: 'System' }), reviewed] as const;

/**
 * Gives an account a webhook with as many deliveries, one a minute until now, of every kind and with every outcome: delivered at once
 * or after failures, failed, cancelled, waiting for the next attempt, and on its way again. Their bookings and events do not exist.
 * @returns the webhook's id
 */
export async function fillDeliveries(
  core: Pick<Core, 'commands' | 'documents' | 'clock'>,
  account: Account,
  { url, count }: { readonly url: string; readonly count: number },
): Promise<string> {
  const owner = { account, credential: 'user:busy' } as const;
  const { webhookId } = accepted(await core.commands.webhooks.register({ owner, url, events: 15 }, CONTEXT));
  const documents = await core.documents.open(deliveryCollection);
  const now = core.clock();
  for (let first = 0; first < count; first += AT_A_TIME) {
    await Promise.all(
      Array.from({ length: Math.min(AT_A_TIME, count - first) }, async (_, index) => {
        const number = first + index;
        const created = now - (count - number) * MINUTE_MS;
        const event = (KINDS[number % KINDS.length] ?? requested)({ bookingId: 1_000_000 + number });
        const eventOf = { webhookId: toWebhookId(webhookId), account: accountKey(account), eventId: event.id };
        const document = newDelivery({ ...eventOf, ...noticeOf(event) }, created);
        await documents.insert(document.deliveryId, { ...document, ...outcomeOf(document, number, created, url) });
      }),
    );
  }
  return webhookId;
}

function outcomeOf(
  { createdAt }: DeliveryDocument,
  number: number,
  created: number,
  url: string,
): Partial<DeliveryDocument> {
  const attempt = (minutes: number, status: number, answer = '') => ({
    at: toTimestamp(created + minutes * MINUTE_MS),
    url,
    status,
    duration: 12 + (number % 90),
    answer,
    address: '203.0.113.9',
  });
  const failures = Array.from({ length: 10 }, (_, index) => attempt(index * 30, 503, 'upstream connect error'));
  switch (number % 50) {
    case 7:
      return { state: 'Failed', tries: 10, attempts: failures, reason: 'The last attempt failed: status 503' };
    case 19:
      return { state: 'Cancelled', reason: 'The registration is disabled' };
    case 31:
      return { state: 'Delivered', tries: 3, attempts: [...failures.slice(0, 2), attempt(61, 200, '{"ok":true}')] };
    case 43:
      // Far ahead, so that nothing is sent during the test.
      return {
        tries: 7,
        attempts: failures.slice(0, 7),
        due: toTimestamp(created + 10 * 24 * 60 * MINUTE_MS),
        delayMs: 14 * 24 * 60 * MINUTE_MS,
      };
    case 47:
      return { attempts: failures, due: number > 40 ? DUE_NOW : createdAt };
    default:
      return { state: 'Delivered', tries: 1, attempts: [attempt(0, 200, '{"ok":true}')] };
  }
}
