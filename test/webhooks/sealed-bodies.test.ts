import { afterEach, beforeEach, expect, test } from 'vitest';
import { everyDocument } from '../../src/document-store/queries.ts';
import { bookingId } from '../../src/domain/ids.ts';
import { eventually } from '../eventually.ts';
import { requested } from './deliverable-events.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { COMMUNITY, openVenue, type Venue } from './venue.ts';

let venue: Venue;
let receiver: Receiver;
beforeEach(async () => {
  venue = await openVenue();
  receiver = await startReceiver();
});
afterEach(async () => {
  await venue.close();
  await receiver.close();
});

/** Appends a request whose message is sealed, as a command does. */
async function request(id: number, message: string): Promise<void> {
  const event = requested({ bookingId: id });
  const sealed = await venue.personalData.sealText('brand:9', `booking:${id}`, 'message', message);
  await venue.append({ ...event, data: { ...event.data, bookingId: bookingId(id), message: sealed } });
}

test('a delivery whose text cannot be decrypted is retried, delays no other, and is never sent as erased', async () => {
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  await request(1, 'Zwetschgenkuchen');
  // The records no longer contain the key.
  const keys = await venue.documents.open<object>({ name: 'subjectKeys', kind: 'record', indexes: [] });
  const lost = await keys.get('brand:9');
  await keys.delete('brand:9');
  const webhooks = await venue.deliver();
  await venue.append(requested({ bookingId: 2 }));
  const sent = await receiver.until(1);
  expect(sent.map(({ body }) => JSON.parse(body).data.bookingId)).toEqual([2]);
  await eventually(async () => {
    expect((await webhooks.breaker(webhookId)).open).toBeUndefined();
    const keptAttempts = await venue.documents.open<{ state: string; attempts: { error?: object }[] }>({
      name: 'webhookDeliveries',
      kind: 'record',
      indexes: [],
    });
    const pending: { state: string; attempts: { error?: object }[] }[] = [];
    for await (const { document } of keptAttempts.find(everyDocument()))
      if (document.state === 'Pending') pending.push(document);
    expect(pending[0]?.attempts[0]?.error).toEqual({
      type: 'Unreadable',
      message: expect.stringContaining('The key of brand:9 is missing'),
    });
  });
  // The records have been restored.
  await keys.insert('brand:9', lost?.document ?? {});
  venue.advance(60_000);
  const both = await receiver.until(2);
  expect(JSON.parse(both[1]?.body ?? '').data.message).toBe('Zwetschgenkuchen');
  expect(both.some(({ body }) => body.includes('erased'))).toBe(false);
});
