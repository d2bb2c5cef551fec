import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accepted } from './accepted.ts';
import { type EnginePair, enginePairs } from './engine-pairs.ts';
import { eventually } from './eventually.ts';
import { CONTEXT, type RunningService, runService } from './running-service.fixture.ts';

describe.each(enginePairs)('end to end on %s', (_, engines) => {
  let pair: EnginePair;
  let service: RunningService;
  let community: Awaited<ReturnType<RunningService['community']>>;
  let brand: Awaited<ReturnType<RunningService['brand']>>;
  let space: number;
  const received: { readonly headers: IncomingMessage['headers']; readonly body: string }[] = [];
  const receiver = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ headers: request.headers, body });
    response.end();
  });

  beforeAll(async () => {
    pair = await engines();
    service = await runService(pair.settings);
    await service.core.webhooks.start();
    community = await service.community();
    brand = await service.brand();
    space = await service.space(community);
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(async () => {
    await service.core.webhooks.stop();
    await service.stop();
    await pair.stop();
    receiver.close();
  });

  const deliveries = (count: number) => eventually(() => expect(received).toHaveLength(count));

  test('a booking is made once, is visible to its parties only, and reaches the webhook until that is removed', async () => {
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
    const webhook = (await service.post('/webhooks', { key: brand.key, body: { url, events: 15 } })).json();

    const request = { spaceId: space, startTime: '2026-12-10', startHour: 10, message: 'Hello' };
    const booked = await service.post('/bookings', { key: brand.key, body: request });
    expect(booked.statusCode).toBe(201);
    expect((await service.post('/bookings', { key: brand.key, body: request })).json().error).toBe('SlotUnavailable');

    const open = await service.get(`/spaces/${space}/availability?date=2026-12-10`, { key: community.key });
    expect(open.json().timeSlots.filter((slot: { isAvailable: boolean }) => slot.isAvailable)).toHaveLength(8);

    const stranger = await service.brand('Stranger');
    const seenBy = async (key: string) => (await service.get('/bookings', { key })).json();
    expect(await seenBy(brand.key)).toEqual([booked.json()]);
    expect(await seenBy(community.key)).toEqual([booked.json()]);
    expect(await seenBy(stranger.key)).toEqual([]);

    const { id: bookingId } = booked.json();
    accepted(await service.core.commands.bookings.approve({ bookingId, communityId: community.id }, CONTEXT));
    await deliveries(2);
    const verifier = new Webhook(webhook.signingSecret);
    for (const { headers, body } of received) verifier.verify(body, headers as Record<string, string>);
    const bodies = received.map(({ body }) => JSON.parse(body));
    const approved = bodies.find(({ event }) => event === 'BookingApproved');
    expect(bodies.map(({ event }) => event).sort()).toEqual(['BookingApproved', 'BookingRequested']);
    expect(approved).toEqual({
      event: 'BookingApproved',
      timestamp: '2026-12-01T12:00:00.000Z',
      data: {
        bookingId,
        spaceId: space,
        spaceName: 'Great Hall',
        date: '2026-12-10',
        startHour: 10,
        endHour: 14,
        status: 'Approved',
        totalPrice: 230,
        brandName: 'Acme',
      },
    });

    expect((await service.delete(`/webhooks/${webhook.id}`, { key: brand.key })).statusCode).toBe(204);
    const by = { kind: 'Community', id: community.id } as const;
    accepted(await service.core.commands.bookings.cancel({ bookingId, by }, CONTEXT));
    const history = await service.get(`/bookings/${bookingId}/history`, { key: brand.key });
    expect(history.json().map(({ event }: { event: string }) => event)).toEqual([
      'BookingRequested',
      'BookingApproved',
      'BookingCancelled',
    ]);
    // Once a later event has arrived at a second registration, the cancellation would have arrived too, had it been sent.
    await service.post('/webhooks', { key: brand.key, body: { url, events: 1 } });
    await service.post('/bookings', { key: brand.key, body: { ...request, startHour: 15 } });
    await deliveries(3);
    expect(received.map(({ body }) => JSON.parse(body).event)).not.toContain('BookingCancelled');
  });

  test('of fifty requests for one slot, one is accepted and forty-nine are refused', async () => {
    const body = { spaceId: space, startTime: '2026-12-20', startHour: 10 };
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => service.post('/bookings', { key: brand.key, body })),
    );
    const codes = answers.map((answer) => `${answer.statusCode} ${answer.json().error ?? ''}`);
    expect(codes.filter((code) => code === '201 ')).toHaveLength(1);
    expect(codes.filter((code) => code === '422 SlotUnavailable')).toHaveLength(49);
  });

  test('a revoked key stops working immediately', async () => {
    const issued = accepted(
      await service.core.commands.apiKeys.issue({ account: brand.account, permissions: 2, label: 'x' }, CONTEXT),
    );
    expect((await service.get('/bookings', { key: issued.key })).statusCode).toBe(200);
    await service.core.commands.apiKeys.revoke({ apiKeyId: issued.apiKeyId }, CONTEXT);
    expect((await service.get('/bookings', { key: issued.key })).statusCode).toBe(401);
  });
});
