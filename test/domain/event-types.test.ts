import { expect, test } from 'vitest';
import { traceIn } from '../../src/domain/event-trace.ts';
import { EVENT_TYPES, isCountedEvent, isEventType } from '../../src/domain/event-types.ts';

test('what an account can do without end counts towards its quota, and nothing else', () => {
  expect(EVENT_TYPES.filter((type) => isCountedEvent({ type }))).toEqual([
    ...[
      'BookingRequested',
      'BookingMoveAsked',
      'BookingMoveAgreed',
      'BookingMoved',
      'CommunityAdded',
      'CommunityChanged',
      'CommunityDescribed',
      'CommunityPhotosChanged',
    ],
    ...['CommunityNewBrandsChanged', 'BrandAdded', 'BrandAdmitted', 'BrandTrusted', 'CustomerDescribed'],
    ...['MessageSent', 'BookingNoted', 'QuestionSent'],
    ...[
      'SpaceAdded',
      'SpaceChanged',
      'SpaceClosed',
      'SpaceOpened',
      'SpaceDescribed',
      'SpacePhotosChanged',
      'TimeClosed',
    ],
    ...['ClosureAdded', 'ReviewPosted'],
    ...['ApiKeyIssued', 'CalendarFeedAdded', 'WebhookRegistered', 'WebhookSecretRotated', 'WebhookEnabled'],
  ]);
});

test('a type is known by its own name alone', () => {
  expect(EVENT_TYPES.every(isEventType)).toBe(true);
  for (const other of ['', 'toString', 'bookingRequested', 'BookingVanished']) expect(isEventType(other)).toBe(false);
});

test('a trace has its flags only if they are there', () => {
  expect(traceIn({})).toBeUndefined();
  expect(traceIn({ traceFlags: '00' })).toBeUndefined();
  expect(traceIn({ traceId: 'a' })).toStrictEqual({ traceId: 'a' });
  expect(traceIn({ traceId: 'a', traceFlags: '00' })).toStrictEqual({ traceId: 'a', traceFlags: '00' });
});
