import { expect, test } from 'vitest';
import { noticeOf, testPayload } from '../../src/contract/webhook-payload.ts';
import { timestamp, webhookId } from '../../src/domain/ids.ts';
import { AT, approved, cancelled, requested, reviewed } from '../webhooks/deliverable-events.ts';

const booking = {
  bookingId: 41,
  spaceId: 7,
  spaceName: 'Roof Terrace',
  date: '2026-05-02',
  startHour: 18,
  endHour: 22,
  totalPrice: 172.55,
  brandName: 'Acme',
};

test('BookingApproved has exactly the fields of the specification, and the name of the brand', () => {
  expect(noticeOf(approved()).payload).toEqual({
    event: 'BookingApproved',
    timestamp: AT,
    data: { ...booking, status: 'Approved' },
  });
});

test('BookingRequested adds the message, if any', () => {
  expect(noticeOf(requested({ message: 'For 30 people' })).payload.data).toEqual({
    ...booking,
    status: 'Pending',
    message: 'For 30 people',
  });
  expect(noticeOf(requested()).payload.data).toEqual({ ...booking, status: 'Pending' });
});

test('BookingCancelled adds the cancelling party and the reason', () => {
  expect(noticeOf(cancelled({ cancelledBy: 'Community', reason: 'Water damage' })).payload.data).toEqual({
    ...booking,
    status: 'Cancelled',
    cancelledBy: 'Community',
    reason: 'Water damage',
  });
  expect(noticeOf(cancelled({ cancelledBy: 'System' })).payload.data).not.toHaveProperty('reason');
});

test('ReviewPosted has the fields of ReviewDto, reviewId and bookingId', () => {
  expect(noticeOf(reviewed()).payload).toEqual({
    event: 'ReviewPosted',
    timestamp: AT,
    data: {
      id: 5,
      reviewId: 5,
      bookingId: 41,
      propertyId: 3,
      spaceId: 7,
      rating: 4,
      title: 'Lovely',
      content: 'Great view.',
      isVerifiedBooking: true,
      createdAt: AT,
    },
  });
});

test('amounts are numbers with at most two decimals', () => {
  for (const [cents, shown] of [
    [11_500, '115'],
    [11_550, '115.5'],
    [29, '0.29'],
    [0, '0'],
    [123_456_789, '1234567.89'],
  ] as const) {
    expect(JSON.stringify(noticeOf(approved({ totalPrice: cents })).payload)).toContain(`"totalPrice":${shown},`);
  }
});

test('a test delivery names its webhook', () => {
  expect(testPayload(webhookId('wh_1'), timestamp(AT))).toEqual({
    event: 'Test',
    timestamp: AT,
    data: { webhookId: 'wh_1' },
  });
});
