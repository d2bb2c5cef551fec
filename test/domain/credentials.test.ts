import { describe, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { type ApiKey, evolveApiKey, issueApiKey, revokeApiKey } from '../../src/domain/api-key.ts';
import {
  addCalendarFeed,
  type CalendarFeeds,
  endCalendarFeed,
  endFeedsOfUser,
  evolveCalendarFeeds,
  NO_FEEDS,
} from '../../src/domain/calendar-feed.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import type { ApiKeyEvent, CalendarFeedEvent, WebhookEvent, WebhookOwner } from '../../src/domain/events.ts';
import { apiKeyId, brandId, communityId, feedId, webhookId } from '../../src/domain/ids.ts';
import { permissionNames } from '../../src/domain/permissions.ts';
import {
  disableWebhook,
  enableWebhook,
  evolveWebhook,
  registerWebhook,
  removeWebhook,
  rotateWebhookSecret,
  type Webhook,
  webhookEventNames,
} from '../../src/domain/webhook.ts';
import { decider } from './given.ts';

const brand: Account = { kind: 'Brand', id: brandId(3) };
const community: Account = { kind: 'Community', id: communityId(3) };

describe('an API key', () => {
  const given = decider<ApiKey | undefined, ApiKeyEvent>(undefined, evolveApiKey);
  const id = apiKeyId('key_1');
  const facts = { apiKeyId: id, account: brand, permissions: 31, label: 'CI', hash: 'h', preview: 'vbs_live_AbCd…' };
  const issued: ApiKeyEvent = { type: 'ApiKeyIssued', data: facts };
  const revoked: ApiKeyEvent = { type: 'ApiKeyRevoked', data: { apiKeyId: id, account: brand, hash: 'h' } };

  test('is issued once, with a label and known permissions', () => {
    given()
      .when((key) => issueApiKey(key, facts))
      .thenEvents({ type: 'ApiKeyIssued' });
    given(issued)
      .when((key) => issueApiKey(key, facts))
      .thenRefused('ValidationError');
    for (const permissions of [0, 64, -1, 1.5, Number.NaN, 2 ** 32 + 1])
      given()
        .when((key) => issueApiKey(key, { ...facts, permissions }))
        .thenRefused(
          'ValidationError',
          /permissions must be a sum of these values: 1 ReadAvailability, 2 ReadBookings, 4 WriteBookings, 8 ReadReviews, 16 Webhooks, 32 Customers\./,
        );
    for (const label of ['', ' ', 'x'.repeat(101)])
      given()
        .when((key) => issueApiKey(key, { ...facts, label }))
        .thenRefused('ValidationError', /label/);
  });

  test('folds into what was issued, and whether it is revoked', () => {
    expect(evolveApiKey(undefined, issued)).toEqual({ ...facts, revoked: false });
    expect([issued, revoked].reduce(evolveApiKey, undefined as ApiKey | undefined)).toEqual({
      ...facts,
      revoked: true,
    });
    expect(evolveApiKey(undefined, revoked)).toBeUndefined();
  });
  test('is revoked by its account or the operator, permanently', () => {
    const revoke = (by?: Account) => (key: ApiKey | undefined) =>
      revokeApiKey(key, { apiKeyId: id, ...(by === undefined ? {} : { by }) });
    given(issued)
      .when(revoke())
      .thenEvents({ type: 'ApiKeyRevoked', data: { hash: 'h' } });
    given(issued).when(revoke(brand)).thenEvents({ type: 'ApiKeyRevoked' });
    given(issued).when(revoke(community)).thenRefused('ResourceNotFound');
    given(issued, revoked).when(revoke()).thenNothing();
    given().when(revoke()).thenRefused('ResourceNotFound');
  });

  test('permissions have names', () => {
    expect(permissionNames(21)).toEqual(['ReadAvailability', 'WriteBookings', 'Webhooks']);
  });
});

describe('a calendar feed', () => {
  const given = decider<CalendarFeeds, CalendarFeedEvent>(NO_FEEDS, evolveCalendarFeeds);
  const wanted = { userId: 'usr_a-B', account: community, showsNames: true, hash: 'h', preview: 'vbs_feed_AbCd…' };
  const added = (number: number, account: Account = community): CalendarFeedEvent => ({
    type: 'CalendarFeedAdded',
    data: { ...wanted, account, feedId: feedId(`usr_a-B.${number}`) },
  });
  const ended = (number: number): CalendarFeedEvent => ({
    type: 'CalendarFeedEnded',
    data: { feedId: feedId(`usr_a-B.${number}`), userId: 'usr_a-B', account: community },
  });
  const ten = Array.from({ length: 10 }, (_, index) => added(index + 1));

  test('is numbered, and one of at most ten that have not ended', () => {
    given(added(1), ended(1))
      .when((feeds) => addCalendarFeed(feeds, wanted))
      .thenEvents({ type: 'CalendarFeedAdded', data: { ...wanted, feedId: 'usr_a-B.2' } });
    given(...ten)
      .when((feeds) => addCalendarFeed(feeds, wanted))
      .thenRefused('ValidationError', /at most 10 calendar feeds/);
    given(...ten, ended(3))
      .when((feeds) => addCalendarFeed(feeds, wanted))
      .thenEvents({ type: 'CalendarFeedAdded', data: { feedId: 'usr_a-B.11' } });
  });

  test('is ended by its account or the operator, and with those of the same account when its user leaves', () => {
    const end =
      (by?: Account, id = 'usr_a-B.1') =>
      (feeds: CalendarFeeds) =>
        endCalendarFeed(feeds, { feedId: id, ...(by && { by }) });
    given(added(1)).when(end()).thenEvents(ended(1));
    given(added(1)).when(end(community)).thenEvents(ended(1));
    given(added(1)).when(end(brand)).thenRefused('ResourceNotFound');
    given(added(1), ended(1)).when(end()).thenNothing();
    given(added(1)).when(end(undefined, 'usr_a-B.2')).thenRefused('ResourceNotFound');
    given(added(1)).when(end(undefined, 'usr_a-B')).thenRefused('ResourceNotFound');
    given(added(1), added(2, brand), added(3))
      .when((feeds) => endFeedsOfUser(feeds, community))
      .thenEvents(ended(1), ended(3));
    given(added(1), added(2, brand))
      .when((feeds) => endFeedsOfUser(feeds, undefined))
      .thenEvents(ended(1), { type: 'CalendarFeedEnded', data: { feedId: 'usr_a-B.2', account: brand } });
  });
});

describe('a webhook', () => {
  const given = decider<Webhook | undefined, WebhookEvent>(undefined, evolveWebhook);
  const id = webhookId('wh_1');
  const owner: WebhookOwner = { credential: 'apiKey:key_1', account: brand };
  const facts = { webhookId: id, owner, url: 'https://example.com/', events: 15, sealedSecret: 's' };
  const registered: WebhookEvent = { type: 'WebhookRegistered', data: facts };
  const disabled: WebhookEvent = { type: 'WebhookDisabled', data: { webhookId: id, owner, reason: '410' } };
  const removed: WebhookEvent = { type: 'WebhookRemoved', data: { webhookId: id, owner } };
  const context = { urlProblem: undefined };

  test('is registered with a valid URL and known events', () => {
    const register =
      (fields = {}, when = {}) =>
      (webhook: Webhook | undefined) =>
        registerWebhook(webhook, { ...facts, ...fields }, { ...context, ...when });
    given().when(register()).thenEvents({ type: 'WebhookRegistered' });
    given(registered)
      .when(register())
      .thenRefused('ValidationError', /exists/);
    given()
      .when(register({}, { urlProblem: 'must be https.' }))
      .thenRefused('ValidationError', /url must be https/);
    for (const events of [0, 32, -1, 2.5])
      given()
        .when(register({ events }))
        .thenRefused(
          'ValidationError',
          /events must be a sum of these values: 1 BookingRequested, 2 BookingApproved, 4 BookingCancelled, 8 ReviewPosted, 16 BookingMoved\./,
        );
    const url = `https://example.com/${'a'.repeat(2_028)}`;
    given().when(register({ url })).thenEvents({});
    given()
      .when(register({ url: `${url}a` }))
      .thenRefused('ValidationError', /url must have 1 to 2048 characters/);
  });

  const operations: [
    string,
    (
      webhook: Webhook | undefined,
      by?: Parameters<typeof removeWebhook>[1]['by'],
    ) => ReturnType<typeof removeWebhook | typeof rotateWebhookSecret | typeof disableWebhook | typeof enableWebhook>,
  ][] = [
    [
      'rotated',
      (webhook, by) =>
        rotateWebhookSecret(webhook, { webhookId: id, sealedSecret: 'n', ...(by && { by }) }, { now: 0 }),
    ],
    ['disabled', (webhook, by) => disableWebhook(webhook, { webhookId: id, reason: 'r', ...(by && { by }) })],
    ['enabled', (webhook, by) => enableWebhook(webhook, { webhookId: id, ...(by && { by }) })],
    ['removed', (webhook, by) => removeWebhook(webhook, { webhookId: id, ...(by && { by }) })],
  ];
  test.each(operations)('is %s by its credential, its account or the operator, never by others', (_, operate) => {
    const state = evolveWebhook(undefined, registered);
    for (const by of [undefined, { account: brand }, owner]) expect(operate(state, by)).not.toHaveProperty('refused');
    const strangers = [{ account: community }, { account: brand, credential: 'apiKey:key_2' as const }];
    for (const by of strangers) expect(operate(state, by)).toMatchObject({ refused: 'ResourceNotFound' });
    const gone = [registered, removed].reduce(evolveWebhook, undefined);
    expect(operate(gone)).toMatchObject({ refused: 'ResourceNotFound' });
    expect(operate(undefined)).toMatchObject({ refused: 'ResourceNotFound' });
  });

  test('a rotation keeps the old secret for 24 hours', () => {
    given(registered)
      .when((webhook) => rotateWebhookSecret(webhook, { webhookId: id, sealedSecret: 'n' }, { now: 0 }))
      .thenEvents({ data: { sealedSecret: 'n', previousUntil: '1970-01-02T00:00:00.000Z' } });
  });

  test('every secret signs for 24 hours after it was replaced; a rotation that would shorten that is refused', () => {
    const hour = 3_600_000;
    const rotatedAt = (now: number): WebhookEvent => {
      const decision = rotateWebhookSecret(evolveWebhook(undefined, registered), rotation, { now });
      if (isRefusal(decision) || decision[0] === undefined) throw new Error('No rotation');
      return decision[0];
    };
    const rotation = { webhookId: id, sealedSecret: 'n' };
    const twice = given(registered, rotatedAt(0), rotatedAt(hour));
    twice
      .when((webhook) => rotateWebhookSecret(webhook, rotation, { now: 2 * hour }))
      .thenRefused('ValidationError', /from 1970-01-02T00:00:00.000Z/);
    twice
      .when((webhook) => rotateWebhookSecret(webhook, rotation, { now: 24 * hour }))
      .thenEvents({ type: 'WebhookSecretRotated' });
  });

  test('disabling and enabling twice changes nothing', () => {
    given(registered, disabled)
      .when((webhook) => disableWebhook(webhook, { webhookId: id, reason: 'r' }))
      .thenNothing();
    given(registered, disabled)
      .when((webhook) => enableWebhook(webhook, { webhookId: id }))
      .thenEvents({ type: 'WebhookEnabled' });
    given(registered)
      .when((webhook) => enableWebhook(webhook, { webhookId: id }))
      .thenNothing();
  });

  test('event values have names', () => {
    expect(webhookEventNames(3)).toEqual(['BookingRequested', 'BookingApproved']);
    expect(webhookEventNames(15)).toHaveLength(4);
  });
});
