import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { inDays } from '../in-days.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { call } from './client.ts';
import { startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

/** Long enough for consumers to leave their groups and check a few times whether to resume. A soak takes minutes (`OUTAGE_MS`). */
const OUTAGE_MS = Number(process.env.OUTAGE_MS ?? 10_000);

test(
  'events appended while no process projects are each delivered once afterwards, and none is parked',
  async () => {
    const dataDir = temporaryDataDir();
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const projecting = await startServiceProcess(dataDir, { ROLES: 'api,projector' });
    const delivering = await startServiceProcess(dataDir, { ROLES: 'api,webhooks', WEBHOOKS_ALLOW_PRIVATE: 'true' });
    const [brand] = projecting.demo().brands;
    const spaceId = projecting.demo().communities[0]?.spaces[0]?.id;
    if (brand === undefined) throw new Error('No demo brand');
    const book = (day: number) =>
      call(delivering, brand.apiKey, '/bookings', { spaceId, startTime: inDays(day), startHour: 14 });
    const registered = await call(delivering, brand.apiKey, '/webhooks', { url: receiver.url, events: 15 });
    expect(registered.status).toBe(201);
    await book(40);
    await receiver.until(1);

    await projecting.end('SIGKILL');
    const booked = await Promise.all([41, 42, 43, 44, 45].map(book));
    expect(booked.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    await pause(OUTAGE_MS);
    expect(receiver.received).toHaveLength(1);
    await startServiceProcess(dataDir, { ROLES: 'api,projector' });
    await receiver.until(6);
    await pause(1_000);

    const delivered = receiver.received.map(({ body }) => JSON.parse(body).data.bookingId);
    expect(delivered.slice(1).toSorted((a, b) => a - b)).toEqual(
      booked.map(({ body }) => body.id).toSorted((a, b) => a - b),
    );
    const parked = await venue(dataDir, 'parked', 'list', '--json');
    expect(JSON.parse(parked.stdout)).toEqual([]);
  },
  OUTAGE_MS + 60_000,
);
