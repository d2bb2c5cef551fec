import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Agent, request } from 'undici';
import { noticeOf } from '../../src/contract/webhook-payload.ts';
import type { Account } from '../../src/domain/account.ts';
import { brandId, webhookId as webhookIdOf } from '../../src/domain/ids.ts';
import { openDeliveries } from '../../src/webhooks/deliveries.ts';
import { newSigningSecret, signatureHeaders } from '../../src/webhooks/signature.ts';
import { approved, requested } from '../webhooks/deliverable-events.ts';
import { openVenue, type Venue } from '../webhooks/venue.ts';
import { interleaved } from './figure.ts';

/** What is measured against bare `undici` POSTs of the same bodies and headers, with the same concurrency: the ceiling. */
type Measured = Awaited<ReturnType<typeof interleaved>>;

export type WebhookFigures = {
  /** Events waiting in the log: fanned out, signed, sent, stored, per second. */
  readonly fromLog: Measured;
  /** Deliveries waiting in the store: read, signed, sent, recorded, per second. */
  readonly backlog: Measured;
  /** The same for a single registration, against a loop with as many connections as it has attempts in flight. */
  readonly single: Measured;
  /** Milliseconds from the append of an event to the arrival of its request, on an idle machine. */
  readonly latency: { readonly p50: number; readonly p99: number; readonly max: number };
};

const REGISTRATIONS = 16;
const CONCURRENCY = 64;
/** Attempts in flight to one receiver. */
const SINGLE_CONCURRENCY = 4;
const ROUNDS = 3;
const PRODUCTION = { tuning: { pollIntervalMs: 1_000 } };

/** Measures deliveries against the bare loop, in the same run, on embedded engines in a temporary folder. */
export async function measureWebhooks({ deliveries = 4_000, latencySamples = 300 } = {}): Promise<WebhookFigures> {
  const worker = new Worker(new URL('webhook-receiver.ts', import.meta.url));
  const [port] = await once(worker, 'message');
  const url = `http://127.0.0.1:${port}/hook`;
  const arrivals = async (): Promise<number[]> => {
    worker.postMessage('arrivals');
    const [times] = await once(worker, 'message');
    return times;
  };
  const venue = await openVenue({ storeThread: true });
  try {
    const latency = await measureLatency(venue, url, latencySamples, arrivals);
    const registered = await Promise.all(
      Array.from({ length: REGISTRATIONS }, (_, i) => venue.register(brand(i), url)),
    );
    const webhookIds = registered.map(({ webhookId }) => webhookId);
    await barePosts(url, deliveries);
    await backlog(venue, webhookIds, deliveries);
    await throughTheLog(venue, deliveries);
    return {
      fromLog: await interleaved(ROUNDS, {
        ceiling: () => barePosts(url, deliveries),
        value: () => throughTheLog(venue, deliveries),
      }),
      backlog: await interleaved(ROUNDS, {
        ceiling: () => barePosts(url, deliveries),
        value: () => backlog(venue, webhookIds, deliveries),
      }),
      single: await interleaved(ROUNDS, {
        ceiling: () => barePosts(url, deliveries, SINGLE_CONCURRENCY),
        value: () => backlog(venue, webhookIds.slice(0, 1), deliveries),
      }),
      latency,
    };
  } finally {
    await venue.close();
    worker.postMessage('close');
  }
}

const IDLE_BRAND: Account = { kind: 'Brand', id: brandId(999) };
const brand = (i: number): Account => ({ kind: 'Brand', id: brandId(1_000 + i) });
const eventFor = (i: number) => approved({ brandId: 1_000 + (i % REGISTRATIONS), bookingId: i });

async function barePosts(url: string, count: number, connections = CONCURRENCY): Promise<number> {
  const dispatcher = new Agent({ connections });
  const secret = newSigningSecret();
  const body = JSON.stringify(noticeOf(eventFor(0)).payload);
  const headers = {
    'content-type': 'application/json',
    ...signatureHeaders([secret], { id: crypto.randomUUID(), at: Date.now(), body }),
  };
  let remaining = count;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (remaining > 0) {
        remaining -= 1;
        const response = await request(url, { method: 'POST', headers, body, dispatcher });
        await response.body.dump();
      }
    }),
  );
  const perSecond = (count / (performance.now() - started)) * 1_000;
  await dispatcher.destroy();
  return perSecond;
}

/** Resolves once this many deliveries have been recorded as delivered. */
function deliveredBy(webhooks: Awaited<ReturnType<Venue['deliver']>>, count: number): Promise<void> {
  let remaining = count;
  return new Promise((resolve) => {
    const stopListening = webhooks.onDelivery(({ state }) => {
      if (state === 'Delivered') remaining -= 1;
      if (remaining > 0) return;
      stopListening();
      resolve();
    });
  });
}

/** Lets deliveries pile up in the store, then measures how fast they are sent. */
async function backlog(venue: Venue, webhookIds: readonly string[], count: number): Promise<number> {
  const deliveries = await openDeliveries(venue);
  await Promise.all(
    Array.from({ length: count }, (_, i) => {
      const event = eventFor(i);
      const webhookId = webhookIdOf(webhookIds[i % webhookIds.length] ?? '');
      return deliveries.add({ webhookId, account: 'Brand:1', eventId: event.id, ...noticeOf(event) });
    }),
  );
  const webhooks = await venue.deliver(PRODUCTION);
  const started = performance.now();
  await deliveredBy(webhooks, count);
  const perSecond = (count / (performance.now() - started)) * 1_000;
  await webhooks.stop();
  return perSecond;
}

/** Lets events pile up in the log, then measures how fast they arrive. */
async function throughTheLog(venue: Venue, count: number): Promise<number> {
  await Promise.all(Array.from({ length: count }, (_, i) => venue.append(eventFor(i))));
  const webhooks = await venue.deliver(PRODUCTION);
  const started = performance.now();
  await deliveredBy(webhooks, count);
  const perSecond = (count / (performance.now() - started)) * 1_000;
  await webhooks.stop();
  return perSecond;
}

async function measureLatency(
  venue: Venue,
  url: string,
  samples: number,
  arrivals: () => Promise<readonly number[]>,
): Promise<WebhookFigures['latency']> {
  await venue.register(IDLE_BRAND, url);
  const webhooks = await venue.deliver(PRODUCTION);
  await arrivals();
  const milliseconds: number[] = [];
  for (let i = 0; i < samples; i++) {
    const delivered = deliveredBy(webhooks, 1);
    const started = performance.timeOrigin + performance.now();
    await venue.append(requested({ brandId: IDLE_BRAND.id, bookingId: i }));
    await delivered;
    const [arrived = Number.NaN] = await arrivals();
    milliseconds.push(arrived - started);
    await pause(5);
  }
  await webhooks.stop();
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
