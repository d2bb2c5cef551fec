import { expect, test } from 'vitest';
import { accountHistory } from '../../projections/account-history.ts';
import { AUDITED_TYPES } from '../../src/domain/account-change.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import { brandId, closureId, communityId, spaceId } from '../../src/domain/ids.ts';
import { timeClosed } from '../domain/bookings.fixture.ts';
import { folded } from './given-events.ts';

test('each change of an account has an entry, except bookings, messages, reviews and the single days of a closure', () => {
  const left = AUDITED_TYPES.filter((type) => !accountHistory.types.includes(type));
  expect(left).toEqual([
    ...['BookingRequested', 'BookingApproved', 'BookingCancelled', 'BookingCompleted'],
    ...['BookingMoveAsked', 'BookingMoveAgreed', 'BookingMoveEnded', 'BookingMoved', 'HoursLeft', 'HoursRefused'],
    ...['MessageSent', 'BookingNoted', 'QuestionSent', 'TimeClosed', 'TimeReopened', 'ReviewPosted', 'ReviewAnswered'],
  ]);
});

test('an entry names the account, the topic and the event', () => {
  const ids = { spaceId: spaceId(7), communityId: communityId(1) };
  const entry = { stream: 'stream', revision: 1, position: '0001', at: '2026-12-01T12:00:00.000Z' };
  const closed: DomainEvent = { type: 'SpaceClosed', data: ids };
  expect(folded(accountHistory, closed)).toEqual({
    'event-1': { ...entry, account: 'Community:1', topic: 'spaces', of: 'space:7' },
  });
  const brand: DomainEvent = { type: 'BrandAdded', data: { brandId: brandId(3), name: 'Acme' } };
  expect(folded(accountHistory, brand)).toEqual({
    'event-1': { ...entry, account: 'Brand:3', topic: 'account', of: 'account:Brand 3' },
  });
});

test('what concerns no account has none, nor has the end of a closure that another one has replaced', () => {
  const owner = { closureId: closureId('c1'), communityId: communityId(1) };
  const ended: DomainEvent = { type: 'ClosureEnded', data: owner };
  expect(folded(accountHistory, ended)).toMatchObject({ 'event-1': { topic: 'spaces', of: 'closure:c1' } });
  const replaced: DomainEvent = { type: 'ClosureEnded', data: { ...owner, replacedBy: closureId('c2') } };
  const forgotten = (subject: 'user:1' | 'brand:3'): DomainEvent => ({ type: 'SubjectForgotten', data: { subject } });
  for (const event of [replaced, forgotten('user:1'), timeClosed()]) expect(folded(accountHistory, event)).toEqual({});
  expect(folded(accountHistory, forgotten('brand:3'))).toMatchObject({ 'event-1': { account: 'Brand:3' } });
});
