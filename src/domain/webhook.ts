import { accountKey } from './account.ts';
import { toTimestamp } from './calendar.ts';
import { type Decision, refuse, refuseFor } from './decision.ts';
import type {
  EventType,
  WebhookDisabled,
  WebhookEnabled,
  WebhookEvent,
  WebhookOwner,
  WebhookRegistered,
  WebhookRemoved,
  WebhookSecretRotated,
} from './events.ts';
import type { WebhookId } from './ids.ts';
import { keysOf } from './keys-of.ts';
import { REASON, sumOf, WEBHOOK_URL, wrongMask, wrongText } from './limits.ts';

/** Events that can be subscribed to, with their bitmask values (docs/guides/webhooks.md#events). */
export const WEBHOOK_EVENTS = {
  BookingRequested: 1,
  BookingApproved: 2,
  BookingCancelled: 4,
  ReviewPosted: 8,
} as const satisfies { readonly [T in EventType]?: number };
export type WebhookEventName = keyof typeof WEBHOOK_EVENTS;

/** The kind of a delivery: an event that can be subscribed to, or `Test`, which an owner sends to try out a receiver. */
export type DeliveryKind = WebhookEventName | 'Test';

export const ALL_WEBHOOK_EVENTS = sumOf(WEBHOOK_EVENTS);
/** Registrations one credential may have (docs/decisions/webhook-deliveries.md). */
export const MAX_WEBHOOKS = 20;
/** How long both secrets sign after a rotation (docs/decisions/webhook-deliveries.md). */
const ROTATION_OVERLAP_MS = 24 * 3_600_000;

export const webhookEventNames = (mask: number): WebhookEventName[] =>
  keysOf(WEBHOOK_EVENTS).filter((name) => (mask & WEBHOOK_EVENTS[name]) !== 0);

export type Webhook = {
  readonly webhookId: WebhookId;
  readonly owner: WebhookOwner;
  readonly url: string;
  readonly status: 'enabled' | 'disabled' | 'removed';
};

export function evolveWebhook(webhook: Webhook | undefined, event: WebhookEvent): Webhook | undefined {
  if (event.type === 'WebhookRegistered') {
    const { webhookId, owner, url } = event.data;
    return { webhookId, owner, url, status: 'enabled' };
  }
  if (webhook === undefined) return undefined;
  switch (event.type) {
    case 'WebhookSecretRotated':
      return webhook;
    case 'WebhookDisabled':
      return { ...webhook, status: 'disabled' };
    case 'WebhookEnabled':
      return { ...webhook, status: 'enabled' };
    case 'WebhookRemoved':
      return { ...webhook, status: 'removed' };
    default:
      return event satisfies never;
  }
}

/**
 * Registers a webhook (docs/decisions/webhook-deliveries.md). `owned` is how many the credential already has; `urlProblem`
 * is what the address guard found wrong with the URL, if anything.
 */
export function registerWebhook(
  existing: Webhook | undefined,
  command: WebhookRegistered['data'],
  context: { readonly owned: number; readonly urlProblem: string | undefined },
): Decision<WebhookRegistered> {
  if (existing !== undefined) return refuse('ValidationError', `Webhook ${command.webhookId} already exists.`);
  const wrong = refuseFor([
    context.urlProblem === undefined
      ? wrongText('url', command.url, WEBHOOK_URL)
      : refuse('ValidationError', `url ${context.urlProblem}.`),
    wrongMask('events', command.events, WEBHOOK_EVENTS),
  ]);
  if (wrong !== undefined) return wrong;
  if (context.owned >= MAX_WEBHOOKS)
    return refuse('ValidationError', `At most ${MAX_WEBHOOKS} webhooks can be registered; remove one first.`);
  return [{ type: 'WebhookRegistered', data: command }];
}

/** Who is asking: the credential that owns the registration, or its account (in the console). */
export type WebhookParty = {
  readonly account: WebhookOwner['account'];
  readonly credential?: WebhookOwner['credential'];
};
type WebhookCommand = { readonly webhookId: WebhookId; readonly by?: WebhookParty };

export function rotateWebhookSecret(
  webhook: Webhook | undefined,
  command: WebhookCommand & { readonly sealedSecret: string },
  context: { readonly now: number },
): Decision<WebhookSecretRotated> {
  if (!isReachable(webhook, command)) return unknownWebhook(command);
  const { webhookId, owner } = webhook;
  const previousUntil = toTimestamp(context.now + ROTATION_OVERLAP_MS);
  return [
    { type: 'WebhookSecretRotated', data: { webhookId, owner, sealedSecret: command.sealedSecret, previousUntil } },
  ];
}

/** `reason` is shown to the owner. No event if it is already disabled. */
export function disableWebhook(
  webhook: Webhook | undefined,
  command: WebhookCommand & { readonly reason: string },
): Decision<WebhookDisabled> {
  if (!isReachable(webhook, command)) return unknownWebhook(command);
  if (webhook.status === 'disabled') return [];
  const wrongReason = wrongText('reason', command.reason, REASON);
  if (wrongReason !== undefined) return wrongReason;
  const { webhookId, owner } = webhook;
  return [{ type: 'WebhookDisabled', data: { webhookId, owner, reason: command.reason } }];
}

export function enableWebhook(webhook: Webhook | undefined, command: WebhookCommand): Decision<WebhookEnabled> {
  if (!isReachable(webhook, command)) return unknownWebhook(command);
  if (webhook.status === 'enabled') return [];
  return [{ type: 'WebhookEnabled', data: { webhookId: webhook.webhookId, owner: webhook.owner } }];
}

/** Permanent: afterwards the registration does not exist for anyone. */
export function removeWebhook(webhook: Webhook | undefined, command: WebhookCommand): Decision<WebhookRemoved> {
  if (!isReachable(webhook, command)) return unknownWebhook(command);
  return [{ type: 'WebhookRemoved', data: { webhookId: webhook.webhookId, owner: webhook.owner } }];
}

function isReachable(webhook: Webhook | undefined, { by }: WebhookCommand): webhook is Webhook {
  if (webhook === undefined || webhook.status === 'removed') return false;
  if (by === undefined) return true;
  if (accountKey(by.account) !== accountKey(webhook.owner.account)) return false;
  return by.credential === undefined || by.credential === webhook.owner.credential;
}

const unknownWebhook = ({ webhookId }: WebhookCommand) =>
  refuse('ResourceNotFound', `There is no webhook ${webhookId}.`);
