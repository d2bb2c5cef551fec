import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Of a delivery, and of its event, in milliseconds since 1970. */
export type Arrival = { readonly at: number; readonly eventAt: number };

/** A webhook receiver that notes when requests arrived. */
export async function openReceiver() {
  const worker = new Worker(new URL('webhook-receiver.ts', import.meta.url));
  const [port]: unknown[] = await once(worker, 'message');
  const arrivals: Arrival[] = [];
  let notify = () => {};
  worker.on('message', (arrived: readonly Arrival[]) => {
    arrivals.push(...arrived);
    notify();
  });
  return {
    url: `http://127.0.0.1:${port}/hook`,
    arrivals,
    /** Resolves when so many requests have arrived in all. @throws if none arrives for a minute */
    async received(count: number): Promise<void> {
      while (arrivals.length < count)
        await new Promise<void>((resolve, reject) => {
          const late = new Error(`${arrivals.length} of ${count} deliveries arrived, then none for a minute`);
          const timer = setTimeout(reject, 60_000, late);
          notify = () => {
            clearTimeout(timer);
            resolve();
          };
        });
    },
    close: () => worker.terminate(),
  };
}

export type Receiver = Awaited<ReturnType<typeof openReceiver>>;
