import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { noticeOf } from '../../src/contract/webhook-payload.ts';
import { type Account, OPERATOR } from '../../src/domain/account.ts';
import { brandId, type WebhookId } from '../../src/domain/ids.ts';
import { openDeliveries } from '../../src/webhooks/deliveries.ts';
import { accepted } from '../accepted.ts';
import { requested } from '../webhooks/deliverable-events.ts';
import { openVenue, type Venue } from '../webhooks/venue.ts';
import { type Bench, interleaved, percentile } from './figure.ts';

const HANGING = 10_000;
/** Deliveries waiting for each of them. */
const WAITING = 2;
const SAMPLES = 300;
const ROUNDS = 3;
/** Registrations made side by side. */
const BATCH = 250;
const PRODUCTION = { tuning: { pollIntervalMs: 1_000 } };

const HEALTHY: Account = { kind: 'Brand', id: brandId(999) };
const OTHERS: Account = { kind: 'Brand', id: brandId(1_000) };

/**
 * From event to delivery for a receiver that is known to be prompt: on an idle machine, and while ten thousand receivers that
 * were never seen before hang. Each has a venue of its own, so that they can be measured alternately.
 */
export const hanging: Bench = async () => {
  const prompt = new Worker(new URL('webhook-receiver.ts', import.meta.url));
  const [promptPort] = await once(prompt, 'message');
  const hanging = new Worker(new URL('hanging-receiver.ts', import.meta.url));
  const [hangingPort] = await once(hanging, 'message');
  const [quiet, busy] = [await openVenue(), await openVenue()];

  /** The 99th percentile in milliseconds. */
  async function measure(venue: Venue, settleMs: number): Promise<number> {
    const webhooks = await venue.deliver(PRODUCTION);
    await pause(settleMs);
    const times: number[] = [];
    for (let i = 0; i < SAMPLES; i++) {
      prompt.postMessage('arrivals');
      await once(prompt, 'message');
      const started = performance.timeOrigin + performance.now();
      await venue.append(requested({ brandId: HEALTHY.id, bookingId: i }));
      for (let arrived: number | undefined; arrived === undefined; ) {
        prompt.postMessage('arrivals');
        const [arrivals] = await once(prompt, 'message');
        [arrived] = arrivals;
        if (arrived === undefined) await pause(1);
        else times.push(arrived - started);
      }
    }
    await webhooks.stop();
    return percentile(times, 99);
  }

  try {
    for (const venue of [quiet, busy]) {
      await venue.register(HEALTHY, `http://127.0.0.1:${promptPort}/hook`);
      await measure(venue, 0);
    }
    await addWaiting(busy, await registerMany(busy, `http://127.0.0.1:${hangingPort}/hook`));
    const { value, ceiling, ratio, ranges } = await interleaved(ROUNDS, {
      ceiling: () => measure(quiet, 0),
      value: () => measure(busy, 1_000),
    });
    return [
      {
        name: `event to delivery, ${HANGING} receivers hanging, p99`,
        value,
        unit: 'ms',
        ceiling: { what: 'idle', value: ceiling },
        ...{ ratio, ranges },
        aim: { below: 2 },
      },
    ];
  } finally {
    hanging.postMessage('close');
    await quiet.close();
    await busy.close();
    prompt.postMessage('close');
  }
};

async function registerMany(venue: Venue, url: string): Promise<WebhookId[]> {
  const webhookIds: WebhookId[] = [];
  const context = { actor: OPERATOR, correlationId: 'bench' };
  for (let from = 0; from < HANGING; from += BATCH) {
    const registered = await Promise.all(
      Array.from({ length: BATCH }, (_, i) => {
        const owner = { account: OTHERS, credential: `client:app-${from + i}` as const };
        return venue.commands.webhooks.register({ owner, url: `${url}?n=${from + i}`, events: 15 }, context);
      }),
    );
    webhookIds.push(...registered.map((outcome) => accepted(outcome).webhookId));
  }
  return webhookIds;
}

async function addWaiting(venue: Venue, webhookIds: readonly WebhookId[]): Promise<void> {
  const deliveries = await openDeliveries(venue);
  for (let i = 0; i < WAITING; i++) {
    const event = requested({ brandId: OTHERS.id, bookingId: 100_000 + i });
    for (let from = 0; from < webhookIds.length; from += BATCH)
      await Promise.all(
        webhookIds
          .slice(from, from + BATCH)
          .map((webhookId) =>
            deliveries.add({ webhookId, account: 'Brand:1000', eventId: event.id, ...noticeOf(event) }),
          ),
      );
  }
}
