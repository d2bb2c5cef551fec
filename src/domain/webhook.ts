import { accountKey } from './account.ts';
import { toTimestamp } from './calendar.ts';
import { type Decision, type Refusal, refuse, refuseField, refuseFor } from './decision.ts';
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
import { minOf } from './extremes.ts';
import type { Timestamp, WebhookId } from './ids.ts';
import { keysOf } from './keys-of.ts';
import { REASON, sumOf, WEBHOOK_URL, wrongMask, wrongText } from './limits.ts';

/** Events that can be subscribed to, with their bitmask values (docs/guides/webhooks.md#events). */
export const WEBHOOK_EVENTS = {
  BookingRequested: 1,
  BookingApproved: 2,
  BookingCancelled: 4,
  ReviewPosted: 8,
  BookingMoved: 16,
} as const satisfies { readonly [T in EventType]?: number };
export type WebhookEventName = keyof typeof WEBHOOK_EVENTS;

/** The kind of a delivery: an event that can be subscribed to, or `Test`, which an owner sends to try out a receiver. */
export type DeliveryKind = WebhookEventName | 'Test';

export const ALL_WEBHOOK_EVENTS = sumOf(WEBHOOK_EVENTS);
/** Registrations one credential may have (docs/decisions/webhook-deliveries.md). */
export const MAX_WEBHOOKS = 20;
/** Registrations an account may make within {@link MINUTE_MS}: the log keeps each of them for good, also after it was removed. */
export const WEBHOOKS_PER_MINUTE = 30;
const MINUTE_MS = 60_000;
/** How long a replaced secret also signs (docs/decisions/webhook-deliveries.md). */
const ROTATION_OVERLAP_MS = 24 * 3_600_000;
/** Secrets that sign at the same moment: the current one, and those replaced within {@link ROTATION_OVERLAP_MS}. */
export const MAX_SECRETS = 3;

export const webhookEventNames = (mask: number): WebhookEventName[] =>
  keysOf(WEBHOOK_EVENTS).filter((name) => (mask & WEBHOOK_EVENTS[name]) !== 0);

export type Webhook = {
  readonly webhookId: WebhookId;
  readonly owner: WebhookOwner;
  readonly url: string;
  readonly status: 'enabled' | 'disabled' | 'removed';
  /** Until when each of the latest replaced secrets also signs, the latest first. */
  readonly replacedUntil: readonly Timestamp[];
};

export function evolveWebhook(webhook: Webhook | undefined, event: WebhookEvent): Webhook | undefined {
  if (event.type === 'WebhookRegistered') {
    const { webhookId, owner, url } = event.data;
    return { webhookId, owner, url, status: 'enabled', replacedUntil: [] };
  }
  if (webhook === undefined) return undefined;
  switch (event.type) {
    case 'WebhookSecretRotated':
      return {
        ...webhook,
        replacedUntil: [event.data.previousUntil, ...webhook.replacedUntil].slice(0, MAX_SECRETS - 1),
      };
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

/** Refuses an invalid registration. `urlProblem` comes from the address guard. */
export const wrongWebhook = (
  { url, events }: Pick<WebhookRegistered['data'], 'url' | 'events'>,
  urlProblem: string | undefined,
): Refusal | undefined =>
  refuseFor([
    urlProblem === undefined ? wrongText('url', url, WEBHOOK_URL) : refuseField('url', urlProblem),
    wrongMask('events', events, WEBHOOK_EVENTS),
  ]);

/** An account's registrations at the time of another one. */
export type WebhookUse = {
  /** Registrations of the same credential. */
  readonly ofCredential: number;
  /** Registrations of the account, by all its credentials and in the console. */
  readonly ofAccount: number;
  /** When registrations of the account were made within {@link MINUTE_MS}, removed ones included, in milliseconds since the epoch. */
  readonly recent: readonly number[];
};

/**
 * Refuses a registration above the limits of the account or its credential (docs/decisions/webhook-deliveries.md).
 * @param perAccount registrations an account may have
 * @param now milliseconds since the epoch, by the clock that {@link WebhookUse.recent} was noted with
 */
export function webhookQuota({ ofCredential, ofAccount, recent }: WebhookUse, perAccount: number, now: number) {
  if (ofCredential >= MAX_WEBHOOKS)
    return refuse('ValidationError', `At most ${MAX_WEBHOOKS} webhooks can be registered; remove one first.`);
  if (ofAccount >= perAccount)
    return refuse('ValidationError', `An account can have at most ${perAccount} webhooks; remove one first.`);
  if (recent.length < WEBHOOKS_PER_MINUTE) return undefined;
  const retryAfter = Math.max(1, Math.ceil((minOf(recent) + MINUTE_MS - now) / 1_000));
  const details = `An account can register at most ${WEBHOOKS_PER_MINUTE} webhooks per minute; try again later.`;
  return refuse('ValidationError', details, { retryAfter });
}

/** Registers a webhook (docs/decisions/webhook-deliveries.md). {@link webhookQuota} says whether there may be another. */
export function registerWebhook(
  existing: Webhook | undefined,
  command: WebhookRegistered['data'],
  { urlProblem }: { readonly urlProblem: string | undefined },
): Decision<WebhookRegistered> {
  if (existing !== undefined) return refuse('ValidationError', `Webhook ${command.webhookId} already exists.`);
  return wrongWebhook(command, urlProblem) ?? [{ type: 'WebhookRegistered', data: command }];
}

/** The requester: the credential that owns the registration, or its account (in the console). */
export type WebhookParty = {
  readonly account: WebhookOwner['account'];
  readonly credential?: WebhookOwner['credential'];
};
type WebhookCommand = { readonly webhookId: WebhookId; readonly by?: WebhookParty };

/**
 * Gives the registration another secret. The one before also signs for {@link ROTATION_OVERLAP_MS}, so a rotation is refused while
 * {@link MAX_SECRETS} secrets sign.
 */
export function rotateWebhookSecret(
  webhook: Webhook | undefined,
  command: WebhookCommand & { readonly sealedSecret: string },
  context: { readonly now: number },
): Decision<WebhookSecretRotated> {
  if (!isReachable(webhook, command)) return unknownWebhook(command);
  const { webhookId, owner, replacedUntil } = webhook;
  const now = toTimestamp(context.now);
  const signing = replacedUntil.filter((until) => until > now);
  const freeFrom = signing.at(-1);
  if (freeFrom !== undefined && signing.length >= MAX_SECRETS - 1) {
    const details = `${MAX_SECRETS} signing secrets are valid at the moment; the next rotation can be made from ${freeFrom}.`;
    return refuse('ValidationError', details, { retryAfter: Math.ceil((Date.parse(freeFrom) - context.now) / 1_000) });
  }
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

/** Permanent: afterwards the registration no longer exists. */
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
