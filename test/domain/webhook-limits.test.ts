import { describe, expect, test } from 'vitest';
import { isRefusal } from '../../src/domain/decision.ts';
import type { WebhookEvent, WebhookOwner } from '../../src/domain/events.ts';
import { brandId, timestamp, webhookId } from '../../src/domain/ids.ts';
import {
  disableWebhook,
  evolveWebhook,
  MAX_SECRETS,
  rotateWebhookSecret,
  type Webhook,
  webhookQuota,
} from '../../src/domain/webhook.ts';

const owner: WebhookOwner = { credential: 'apiKey:key_1', account: { kind: 'Brand', id: brandId(3) } };
const id = webhookId('wh_1');
const url = 'https://example.com/';
const registered: WebhookEvent = {
  type: 'WebhookRegistered',
  data: { webhookId: id, owner, url, events: 15, sealedSecret: 's' },
};
const rotated = (until: string): WebhookEvent => ({
  type: 'WebhookSecretRotated',
  data: { webhookId: id, owner, sealedSecret: 'n', previousUntil: timestamp(until) },
});
const folded = (...events: readonly WebhookEvent[]) => events.reduce(evolveWebhook, undefined as Webhook | undefined);

test('a registration folds into its owner, its state and the times of its latest secrets', () => {
  const state = { webhookId: id, owner, url, status: 'enabled', replacedUntil: [] };
  const of = { webhookId: id, owner };
  const disabled: WebhookEvent = { type: 'WebhookDisabled', data: { ...of, reason: '410' } };
  const enabled: WebhookEvent = { type: 'WebhookEnabled', data: of };
  const removed: WebhookEvent = { type: 'WebhookRemoved', data: of };
  expect(folded(registered)).toEqual(state);
  expect(folded(registered, disabled)).toEqual({ ...state, status: 'disabled' });
  expect(folded(registered, disabled, enabled)).toEqual(state);
  expect(folded(registered, removed)).toEqual({ ...state, status: 'removed' });
  const times = ['2026-12-01', '2026-12-02', '2026-12-03'].map((day) => `${day}T00:00:00.000Z`);
  expect(folded(registered, ...times.map(rotated))).toEqual({ ...state, replacedUntil: times.slice(1).reverse() });
  for (const event of [disabled, enabled, removed, rotated('')]) expect(folded(event)).toBeUndefined();
});

test('why it is disabled has at most 500 characters', () => {
  const disable = (reason: string) => disableWebhook(folded(registered), { webhookId: id, reason });
  expect(disable('x'.repeat(500))).toHaveLength(1);
  expect(disable('x'.repeat(501))).toMatchObject({ field: 'reason' });
});

describe('the quota', () => {
  const none = { ofCredential: 0, ofAccount: 0, recent: [] };
  const NOW = Date.parse('2026-12-01T12:00:00Z');
  const details = (use: Partial<Parameters<typeof webhookQuota>[0]>) =>
    webhookQuota({ ...none, ...use }, 100, NOW)?.details;

  test('is 20 of a credential, and as many of an account as it may have', () => {
    expect(details({ ofCredential: 19, ofAccount: 99 })).toBeUndefined();
    expect(details({ ofCredential: 20 })).toMatch('At most 20 webhooks');
    expect(details({ ofAccount: 100 })).toMatch('at most 100 webhooks');
  });
  test.each([
    [60_000, 60],
    [1_001, 2],
    [1_000, 1],
    [1, 1],
    // Another process noted it by a clock that is behind.
    [-5_000, 1],
  ])(
    'is 30 registrations within a minute: the oldest leaves after %i ms, so one can be made after %i s',
    (leftMs, retryAfter) => {
      const oldest = NOW - 60_000 + leftMs;
      const recent = [NOW, oldest, ...Array.from({ length: 28 }, () => NOW)];
      expect(webhookQuota({ ...none, recent }, 100, NOW)).toMatchObject({
        refused: 'ValidationError',
        details: 'An account can register at most 30 webhooks per minute; try again later.',
        retryAfter,
      });
      expect(webhookQuota({ ...none, recent: recent.slice(1) }, 100, NOW)).toBeUndefined();
    },
  );
});

test('a rotation that has to wait says for how many seconds', () => {
  const until = '2026-12-01T12:00:00.000Z';
  const webhook = folded(registered, rotated(until), rotated('2026-12-01T13:00:00.000Z'));
  const rotate = (now: string) =>
    rotateWebhookSecret(webhook, { webhookId: id, sealedSecret: 'n' }, { now: Date.parse(now) });
  expect(MAX_SECRETS).toBe(3);
  expect(rotate('2026-12-01T11:59:58.001Z')).toMatchObject({ refused: 'ValidationError', retryAfter: 2 });
  expect(rotate('2026-12-01T11:58:00Z')).toMatchObject({ retryAfter: 120 });
  expect(rotate('2026-12-01T11:00:00Z')).toMatchObject({ retryAfter: 3_600 });
  expect(isRefusal(rotate(until))).toBe(false);
});
