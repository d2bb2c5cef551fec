import { afterAll, beforeAll, expect, test } from 'vitest';
import { communityId, spaceId, bookingId as toBookingId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let community: Awaited<ReturnType<RunningService['community']>>;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let bookingId: number;

beforeAll(async () => {
  service = await runService();
  community = await service.community();
  brand = await service.brand();
  const body = { spaceId: await service.space(community), startTime: '2026-12-10', startHour: 10 };
  bookingId = (await service.post('/bookings', { key: brand.key, body })).json().id;
});
afterAll(() => service.stop());

const reviews = (key: string, id: number = community.id) => service.get(`/communities/${id}/reviews`, { key });
const review = { rating: 5, title: 'Quiet', content: 'And <b>light</b>.' };

test('a brand can read the reviews of a community once it has completed a booking there', async () => {
  expect((await reviews(brand.key)).statusCode).toBe(404);
  accepted(await service.core.commands.bookings.approve({ bookingId, communityId: community.id }, CONTEXT));
  expect((await reviews(brand.key)).json().error).toBe('ResourceNotFound');
  service.time.now = Date.parse('2026-12-11T00:00:00Z');
  accepted(await service.core.commands.bookings.complete(bookingId, CONTEXT));
  expect((await reviews(brand.key)).json()).toEqual([]);
});

test('a review shows every field of ReviewDto to both parties', async () => {
  const posted = accepted(await service.core.commands.reviews.post({ bookingId, ...review }, CONTEXT));
  for (const key of [brand.key, community.key])
    expect((await reviews(key)).json()).toEqual([
      {
        id: posted.reviewId,
        propertyId: community.id,
        spaceId: posted.spaceId,
        ...review,
        isVerifiedBooking: true,
        createdAt: '2026-12-11T00:00:00.000Z',
      },
    ]);
});

test('the answer of the community is shown to both parties, also to callers that have the list', async () => {
  const before = await reviews(brand.key);
  const tag = String(before.headers.etag);
  const again = { key: brand.key, headers: { 'if-none-match': tag } };
  const list = `/communities/${community.id}/reviews`;
  expect((await service.get(list, again)).statusCode).toBe(304);
  const answer = { bookingId: toBookingId(bookingId), communityId: communityId(community.id), answer: 'Thank <you>.' };
  accepted(await service.core.commands.reviews.answer(answer, CONTEXT));
  expect((await service.get(list, again)).statusCode).toBe(200);
  for (const key of [brand.key, community.key])
    expect((await reviews(key)).json()).toMatchObject([{ ...review, answer: 'Thank <you>.' }]);
  expect(await service.core.commands.reviews.answer(answer, CONTEXT)).toMatchObject({ refused: 'BookingNotAllowed' });
});

test('a booking gets one review, from its brand, after completion', async () => {
  const { reviews: commands, bookings } = service.core.commands;
  expect(await commands.post({ bookingId, ...review }, CONTEXT)).toMatchObject({ refused: 'BookingNotAllowed' });
  const stranger = await service.brand('Stranger');
  expect(await commands.post({ bookingId, ...review, brandId: stranger.id }, CONTEXT)).toMatchObject({
    refused: 'ResourceNotFound',
  });
  service.time.now = NOON;
  const command = { brandId: brand.id, details: { spaceId: spaceId(1), date: '2026-12-12' as never, startHour: 10 } };
  const open = accepted(await bookings.request(command, CONTEXT));
  expect(await commands.post({ bookingId: open.bookingId, ...review }, CONTEXT)).toMatchObject({
    refused: 'BookingNotAllowed',
    details: expect.stringMatching(/Pending/),
  });
});

test('unknown communities, and those whose reviews the caller may not read, are 404', async () => {
  const other = await service.community('UTC', 'Other');
  expect((await reviews(other.key)).statusCode).toBe(404);
  expect((await reviews(brand.key, other.id)).statusCode).toBe(404);
  expect((await reviews(brand.key, 4_711)).statusCode).toBe(404);
  expect((await service.get('/communities/x/reviews', { key: brand.key })).statusCode).toBe(400);
});
