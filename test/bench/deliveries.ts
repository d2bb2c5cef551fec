import type { Bench } from './figure.ts';
import { requestToReceiver } from './request-to-receiver.ts';
import { measureWebhooks } from './webhooks.ts';

/** Webhook deliveries against a bare loop of POSTs, and how long one takes. */
export const deliveries: Bench = async () => {
  const { fromLog, backlog, single, latency } = await measureWebhooks();
  const aim = { atLeast: 0.6 };
  const bare = (value: number, how = '') => ({ what: `bare undici POSTs${how}`, value });
  return [
    {
      ...{ name: 'webhook deliveries, from the log', value: fromLog.value, unit: '/s' },
      ...{ ceiling: bare(fromLog.ceiling), ratio: fromLog.ratio, ranges: fromLog.ranges, aim },
    },
    {
      ...{ name: 'webhook deliveries, backlog', value: backlog.value, unit: '/s' },
      ...{ ceiling: bare(backlog.ceiling), ratio: backlog.ratio, ranges: backlog.ranges, aim },
    },
    {
      ...{ name: 'webhook deliveries, backlog of one receiver', value: single.value, unit: '/s' },
      ...{ ceiling: bare(single.ceiling, ', four at a time'), ratio: single.ratio, ranges: single.ranges },
    },
    ...(await requestToReceiver()),
    { name: 'event to delivery, idle, p50', value: latency.p50, unit: 'ms' },
    { name: 'event to delivery, idle, p99', value: latency.p99, unit: 'ms' },
  ];
};
