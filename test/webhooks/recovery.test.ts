import { expect, onTestFinished, test } from 'vitest';
import { timestamp } from '../../src/domain/ids.ts';
import { approved, requested } from './deliverable-events.ts';
import { startReceiver } from './receiver.ts';
import { COMMUNITY } from './venue.ts';
import { openVenueWithReceiver, receiver, venue } from './venue-with-receiver.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

openVenueWithReceiver();

test('recovery continues past an event with an earlier timestamp later in the log', async () => {
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver();
  const since = timestamp(new Date(venue.clock() - 60_000).toISOString());
  const witness = await startReceiver();
  onTestFinished(() => witness.close());
  await venue.register(COMMUNITY, witness.url);
  await venue.disable(webhookId);
  const missed = await venue.append(approved());
  // Written by a process with a wrong clock.
  venue.advance(-HOUR_MS);
  await venue.append(requested());
  venue.advance(HOUR_MS);
  // By then the fan-out has seen both events while the other registration was disabled.
  await witness.until(2);
  await venue.enable(webhookId);
  expect(await webhooks.recover(webhookId, since)).toEqual({ due: 1 });
  const [first] = await receiver.until(1);
  expect(first?.headers['webhook-id']).toBe(`${missed}:${webhookId}`);
});

test('recovery says where its 30 days begin if it was asked to go further back', async () => {
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver();
  const ago = (days: number) => timestamp(new Date(venue.clock() - days * DAY_MS).toISOString());
  const [earliest, recovered, latest] = [ago(30), await webhooks.recover(webhookId, ago(270)), ago(30)];
  const { from = '' } = 'refused' in recovered ? {} : recovered;
  expect(from >= earliest && from <= latest).toBe(true);
  expect(await webhooks.recover(webhookId, ago(29))).toEqual({ due: 0 });
});
