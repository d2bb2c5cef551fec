import type { Bench } from './figure.ts';
import { measureWebhooks } from './webhooks.ts';

/** Webhook deliveries against a bare loop of POSTs. */
export const deliveries: Bench = async () => {
  const figures = await measureWebhooks();
  const { p50, p99 } = figures.latency;
  return [
    {
      name: 'webhook deliveries',
      value: figures.deliveriesPerSecond,
      unit: '/s',
      ceiling: { what: 'bare undici POSTs', value: figures.barePostsPerSecond },
      ratio: figures.ofBare,
      aim: { atLeast: 0.6 },
    },
    {
      name: 'webhook deliveries, one receiver',
      value: figures.single.value,
      unit: '/s',
      ceiling: { what: 'bare undici POSTs, four at a time', value: figures.single.ceiling },
      ratio: figures.single.ratio,
      ranges: figures.single.ranges,
    },
    { name: 'webhook deliveries, from the log', value: figures.eventsToDeliveriesPerSecond, unit: '/s' },
    { name: 'event to delivery, idle, p50', value: p50, unit: 'ms', aim: { below: 3 } },
    { name: 'event to delivery, idle, p99', value: p99, unit: 'ms', aim: { below: 10 } },
  ];
};
