import { globSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { apiKeys } from '../../projections/api-keys.ts';
import { availability } from '../../projections/availability.ts';
import { bookings } from '../../projections/bookings.ts';
import { brands } from '../../projections/brands.ts';
import { calendarFeeds } from '../../projections/calendar-feeds.ts';
import { communities } from '../../projections/communities.ts';
import { projections } from '../../projections/index.ts';
import { reviews } from '../../projections/reviews.ts';
import { spaceRatings } from '../../projections/space-ratings.ts';
import { spaces } from '../../projections/spaces.ts';
import { webhooks } from '../../projections/webhooks.ts';
import type { CommunityFacts, DomainEvent } from '../../src/domain/events.ts';
import {
  apiKeyId,
  bookingId,
  brandId,
  cents,
  closureId,
  communityId,
  feedId,
  reviewId,
  spaceId,
  timestamp,
  webhookId,
} from '../../src/domain/ids.ts';
import {
  approved,
  cancelledByBrand,
  completed,
  day,
  other,
  requested,
  timeClosed,
  timeReopened,
} from '../domain/bookings.fixture.ts';
import { folded } from './given-events.ts';

test('the list has every read model of this folder, each with a name of its own', async () => {
  const found: unknown[] = [];
  for (const file of globSync('projections/*.ts', { cwd: ROOT.pathname }))
    found.push(...Object.values<unknown>(await import(new URL(file, ROOT).href)).filter(isProjection));
  expect(new Set(found)).toEqual(new Set(projections));
  expect(new Set(projections.map(({ name }) => name)).size).toBe(projections.length);
});
const ROOT = new URL('../../', import.meta.url);
const AT = '2026-12-01T12:00:00.000Z';
const isProjection = (value: unknown): boolean => typeof value === 'object' && value !== null && 'evolve' in value;

test('an event that creates a document ignores an existing one', () => {
  const first = requested({ bookingId: bookingId(1) });
  const events = [first, approved(first), first, approved(first)];
  expect(folded(bookings, ...events)).toEqual(folded(bookings, first, approved(first)));
});

describe('bookings', () => {
  const first = requested({ bookingId: bookingId(1) });

  test('a request', () => {
    expect(folded(bookings, requested({ message: 'Hi', startHour: 20 }))).toMatchObject({
      1: {
        bookingId: 1,
        status: 'Pending',
        totalPrice: 23_000,
        usageHours: 2,
        message: 'Hi',
        createdAt: '2026-12-01T12:00:00.000Z',
      },
    });
  });
  test('approved, then completed', () => {
    const request = folded(bookings, first)[1];
    const charged = { approvedAt: AT, wasApproved: 'yes', charge: 23_000 };
    expect(folded(bookings, first, approved(first))).toEqual({ 1: { ...request, status: 'Approved', ...charged } });
    expect(folded(bookings, first, approved(first), completed(first))).toEqual({
      1: { ...request, status: 'Completed', ...charged },
    });
  });
  test('cancelled, with the actor and the refund', () => {
    expect(folded(bookings, first, cancelledByBrand(first))).toEqual({
      1: { ...folded(bookings, first)[1], status: 'Cancelled', cancelledBy: 'Brand', refund: 0 },
    });
  });
  test('without the key of its request and the digest that belongs to it', () => {
    const { data } = requested({ message: 'Hi', idempotencyKey: 'k' });
    const { idempotencyKey: _, ...document } = data;
    const withKey: DomainEvent = { type: 'BookingRequested', data: { ...data, fingerprint: 'f' } };
    expect(folded(bookings, withKey)).toEqual({ 1: { ...document, status: 'Pending', createdAt: AT, changedAt: AT } });
    expect(folded(bookings, first)).toEqual({ 1: { ...first.data, status: 'Pending', createdAt: AT, changedAt: AT } });
  });
  test('an event of an unknown request creates no document', () => {
    expect(folded(bookings, approved(first))).toEqual({});
  });
});

test('availability: a request holds hours, its approval takes them, and its cancellation frees them', () => {
  const first = requested({ bookingId: bookingId(1), startHour: 10 });
  const second = requested({ bookingId: bookingId(2), brand: other, startHour: 14 });
  const day = { spaceId: 7, date: '2026-12-10' };
  const taken = [
    { bookingId: 1, brandId: 3, status: 'Pending', startHour: 10 },
    { bookingId: 2, brandId: 4, status: 'Approved', startHour: 14 },
  ].map((hours) => ({ ...hours, durationHours: 4, timeZone: 'Europe/Berlin' }));
  expect(folded(availability, first, second, approved(second))).toEqual({
    '7:2026-12-10': { ...day, taken, closed: [] },
  });
  expect(folded(availability, first, second, approved(second), cancelledByBrand(first))).toEqual({
    '7:2026-12-10': { ...day, taken: taken.slice(1), closed: [] },
  });
  expect(folded(availability, approved(first))).toEqual({});
});

test('availability: an event that the end of the window cuts short holds the hours that remain', () => {
  const late = requested({ startHour: 20 });
  const { bookingId, brandId, timeZone, startHour, durationHours } = late.data;
  const hours = { bookingId, brandId, status: 'Pending', timeZone, startHour, durationHours, usageHours: 2 };
  expect(folded(availability, late)).toEqual({
    '7:2026-12-10': { spaceId: 7, date: '2026-12-10', taken: [hours], closed: [] },
  });
});

test('availability: closed hours are listed without their title until they end', () => {
  const closed = [{ closureId: 'c1', kind: 'Closure', start: 0, until: 24 }];
  const day = { spaceId: 7, date: '2026-12-10', taken: [] };
  const shut = timeClosed({ title: 'Christmas' });
  expect(folded(availability, shut)).toEqual({ '7:2026-12-10': { ...day, closed } });
  expect(folded(availability, timeReopened({ closureId: closureId('c2') }), shut, timeReopened())).toEqual({
    '7:2026-12-10': { ...day, closed: [] },
  });
});

test('spaces show their current terms', () => {
  const id = { spaceId: spaceId(7), communityId: communityId(1) };
  const terms = { windowStart: 9, windowEnd: 22, durationHours: 4, eventFee: cents(1), answerHours: 72 };
  const added: DomainEvent = { type: 'SpaceAdded', data: { ...id, ...terms, name: 'Hall', timeZone: 'UTC' } };
  const changed: DomainEvent = { type: 'SpaceChanged', data: { ...id, name: 'Great Hall' } };
  const closed: DomainEvent = { type: 'SpaceClosed', data: id };
  const opened: DomainEvent = { type: 'SpaceOpened', data: id };
  expect(folded(spaces, added, changed, closed)).toEqual({
    7: {
      ...id,
      ...terms,
      name: 'Great Hall',
      timeZone: 'UTC',
      active: false,
      formerNames: ['Hall'],
      renamedAt: '2026-12-01T12:00:00.000Z',
    },
  });
  expect(folded(spaces, added, closed, opened)).toMatchObject({ 7: { active: true } });
  const date = day('2026-12-24');
  const hours = { windowStart: 10, windowEnd: 14 };
  const special: DomainEvent = { type: 'SpaceChanged', data: { ...id, dates: [{ date, hours }] } };
  const usual: DomainEvent = { type: 'SpaceChanged', data: { ...id, dates: [{ date, hours: 'none' }] } };
  expect(folded(spaces, added, special)).toMatchObject({ 7: { special: { [date]: hours } } });
  expect(folded(spaces, added, special, usual)).toMatchObject({ 7: { special: {} } });
  const other = day('2026-12-25');
  const both: DomainEvent = {
    type: 'SpaceChanged',
    data: {
      ...id,
      dates: [
        { date, hours: 'none' },
        { date: other, hours },
      ],
    },
  };
  expect(folded(spaces, added, special, both)).toMatchObject({ 7: { special: { [other]: hours } } });
  expect(folded(spaces, added, special, both)[7]).not.toHaveProperty('dates');
});

test('a space lists each former name once, without the current one', () => {
  const id = { spaceId: spaceId(7), communityId: communityId(1) };
  const terms = { windowStart: 9, windowEnd: 22, durationHours: 4, eventFee: cents(1), answerHours: 72 };
  const added: DomainEvent = { type: 'SpaceAdded', data: { ...id, ...terms, name: 'Hall', timeZone: 'UTC' } };
  const called = (name: string): DomainEvent => ({ type: 'SpaceChanged', data: { ...id, name } });
  const dearer: DomainEvent = { type: 'SpaceChanged', data: { ...id, eventFee: cents(2) } };
  const renamed = [added, called('Loft'), called('Hall'), dearer, called('Barn')];
  expect(folded(spaces, ...renamed.slice(0, 4))).toMatchObject({ 7: { name: 'Hall', formerNames: ['Loft'] } });
  expect(folded(spaces, added, dearer)[7]).not.toHaveProperty('formerNames');
  expect(folded(spaces, called('Loft'))).toEqual({});
  expect(folded(spaces, ...renamed)).toMatchObject({ 7: { name: 'Barn', formerNames: ['Hall', 'Loft'] } });
  const often = Array.from({ length: 150 }, (_, index) => called(`Hall ${index}`));
  const [space] = Object.values(folded(spaces, added, ...often));
  expect(space?.formerNames).toHaveLength(100);
  expect(space?.formerNames?.[0]).toBe('Hall 148');
});

test('communities and brands', () => {
  const community = { communityId: communityId(1), name: 'Harbour', timeZone: 'UTC' };
  const brand = { brandId: brandId(3), name: 'Acme' };
  const added: DomainEvent = { type: 'CommunityAdded', data: community };
  expect(folded(communities, added)).toEqual({ 1: community });
  const changed = (facts: Partial<CommunityFacts>): DomainEvent => ({
    type: 'CommunityChanged',
    data: { ...facts, communityId: community.communityId },
  });
  const at = '2026-12-01T12:00:00.000Z';
  expect(folded(communities, added, changed({ name: 'Quay' }))).toEqual({
    1: { ...community, name: 'Quay', changedAt: at, renamed: { from: 'Harbour', at } },
  });
  expect(folded(communities, changed({ name: 'Quay' }))).toEqual({});
  // Names that were changed again within a day do not hide the one before.
  const often = ['Bank', 'Post', 'Quay'].map((name) => changed({ name }));
  expect(folded(communities, added, ...often)).toMatchObject({ 1: { name: 'Quay', renamed: { from: 'Harbour' } } });
  expect(folded(communities, added, changed({ timeZone: 'Asia/Tokyo' }))).toEqual({
    1: { ...community, timeZone: 'Asia/Tokyo', changedAt: at },
  });
  expect(folded(brands, { type: 'BrandAdded', data: brand })).toEqual({ 3: brand });
});

test('reviews, and the ratings of a space', () => {
  const data = {
    reviewId: reviewId(5),
    bookingId: bookingId(1),
    communityId: communityId(1),
    spaceId: spaceId(7),
    spaceName: 'Hall',
    brandId: brandId(3),
    brandName: 'Acme',
    rating: 5,
    title: 'Good',
    content: 'Very.',
    isVerifiedBooking: true,
  };
  expect(folded(reviews, { type: 'ReviewPosted', data })).toEqual({
    5: { ...data, createdAt: '2026-12-01T12:00:00.000Z' },
  });
  const { bookingId: of, communityId: community, spaceId: space, brandId: brand } = data;
  const ids = { reviewId: data.reviewId, bookingId: of, communityId: community, spaceId: space, brandId: brand };
  const answered = { type: 'ReviewAnswered', data: { ...ids, answer: 'Thanks.' } } as const;
  expect(folded(reviews, { type: 'ReviewPosted', data }, answered)).toEqual({
    5: {
      ...{ ...data, createdAt: '2026-12-01T12:00:00.000Z' },
      ...{ answer: 'Thanks.', answeredAt: '2026-12-01T12:00:00.000Z', wasAnswered: 'yes' },
    },
  });
  const posted = (id: number, rating: number) =>
    ({ type: 'ReviewPosted', data: { ...data, reviewId: reviewId(id), rating } }) as const;
  expect(folded(spaceRatings, posted(5, 5), posted(6, 3), posted(8, 4), posted(7, 1))).toEqual({
    7: { spaceId: 7, communityId: 1, count: 4, sum: 13, latest: [7, 8, 6] },
  });
});

test('API keys are stored as hashes; a revoked key shows when it was revoked', () => {
  const id = { apiKeyId: apiKeyId('key_1'), account: { kind: 'Brand', id: brandId(3) }, hash: 'abc' } as const;
  const issued: DomainEvent = { type: 'ApiKeyIssued', data: { ...id, permissions: 3, label: 'CI', preview: 'vbs…' } };
  expect(folded(apiKeys, issued)).toEqual({
    abc: {
      apiKeyId: 'key_1',
      owner: { kind: 'Brand', id: 3 },
      account: 'Brand:3',
      permissions: 3,
      label: 'CI',
      preview: 'vbs…',
      issuedAt: '2026-12-01T12:00:00.000Z',
    },
  });
  expect(folded(apiKeys, issued, { type: 'ApiKeyRevoked', data: id })).toEqual({
    abc: { ...folded(apiKeys, issued).abc, revokedAt: AT },
  });
});

test('calendar feeds are stored without their hash, and leave once they have ended', () => {
  const of = {
    feedId: feedId('usr_1.1'),
    userId: 'usr_1',
    account: { kind: 'Community', id: communityId(3) },
  } as const;
  const data = { ...of, spaceId: spaceId(7), showsNames: false, hash: 'abc', preview: 'vbs…' };
  const added: DomainEvent = { type: 'CalendarFeedAdded', data };
  expect(folded(calendarFeeds, added)).toEqual({
    'usr_1.1': {
      feedId: 'usr_1.1',
      userId: 'usr_1',
      owner: { kind: 'Community', id: 3 },
      account: 'Community:3',
      spaceId: 7,
      showsNames: false,
      preview: 'vbs…',
      addedAt: '2026-12-01T12:00:00.000Z',
    },
  });
  expect(folded(calendarFeeds, added, { type: 'CalendarFeedEnded', data: of })).toEqual({});
});

test('webhooks: rotation keeps the old secret, disabling stores the reason, removal deletes the document', () => {
  const id = webhookId('wh_1');
  const owner = { credential: 'apiKey:key_1', account: { kind: 'Brand', id: brandId(3) } } as const;
  const registered: DomainEvent = {
    type: 'WebhookRegistered',
    data: { webhookId: id, owner, url: 'https://example.com/', events: 3, sealedSecret: 'one' },
  };
  const previousUntil = timestamp('2026-12-02T12:00:00.000Z');
  const rotated: DomainEvent = {
    type: 'WebhookSecretRotated',
    data: { webhookId: id, owner, sealedSecret: 'two', previousUntil },
  };
  const disabled: DomainEvent = { type: 'WebhookDisabled', data: { webhookId: id, owner, reason: 'Redirect' } };
  const enabled: DomainEvent = { type: 'WebhookEnabled', data: { webhookId: id, owner } };

  expect(folded(webhooks, registered)).toMatchObject({
    wh_1: { account: 'Brand:3', credential: 'apiKey:key_1', status: 'enabled', registeredAt: '0001' },
  });
  const document = folded(webhooks, registered).wh_1;
  const previousSecrets = [{ sealed: 'one', until: previousUntil }];
  expect(folded(webhooks, registered, rotated)).toEqual({
    wh_1: { ...document, sealedSecret: 'two', previousSecrets },
  });
  // At most three sign: the current one, and the latest two that were replaced.
  expect(folded(webhooks, registered, rotated, rotated, rotated).wh_1?.previousSecrets).toEqual([
    { sealed: 'two', until: previousUntil },
    { sealed: 'two', until: previousUntil },
  ]);
  expect(folded(webhooks, registered, rotated, rotated).wh_1?.previousSecrets).toEqual([
    { sealed: 'two', until: previousUntil },
    ...previousSecrets,
  ]);
  expect(folded(webhooks, registered, disabled)).toEqual({
    wh_1: { ...document, status: 'disabled', disabledReason: 'Redirect' },
  });
  expect(folded(webhooks, registered, disabled, enabled)).toEqual({ wh_1: { ...document, activeSince: '0003' } });
  for (const event of [rotated, disabled, enabled]) expect(folded(webhooks, event)).toEqual({});
  expect(folded(webhooks, registered, { type: 'WebhookRemoved', data: { webhookId: id, owner } })).toEqual({});
});
