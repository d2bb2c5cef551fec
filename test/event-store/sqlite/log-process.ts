/**
 * A separate process for tests to kill: `node log-process.ts append|fill|consume PATH NAME`.
 * Prints a line for each event whose append was acknowledged (`append`, `fill`) or that was delivered to it (`consume`).
 */

import { LOG_START } from '../../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../../src/event-store/sqlite/event-store.ts';

const [work, path = '', name = ''] = process.argv.slice(2);
const store = await openSqliteEventStore({ path });

if (work === 'append') {
  const writer = async (stream: string): Promise<never> => {
    for (let n = 0; ; n += 1) {
      const event = { type: 'Made', data: { n }, metadata: {} };
      const { revision } = await store.append(stream, [event], { expectedRevision: n === 0 ? 'none' : n - 1 });
      console.log(`${stream} ${revision}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, index) => writer(`${name}-${index}`)));
} else if (work === 'fill') {
  const data = { text: 'x'.repeat(20_000) };
  try {
    for (let n = 0; ; n += 1) {
      const event = { type: 'Made', data, metadata: {} };
      const { revision } = await store.append(name, [event], { expectedRevision: n === 0 ? 'none' : n - 1 });
      console.log(`${name} ${revision}`);
    }
  } catch (error) {
    await store.ping();
    console.log(`refused ${error}`);
  }
  await store.close();
} else if (work === 'consume') {
  await store.consume(name, { types: ['Made'], after: () => LOG_START, concurrency: 4 }, async ({ data }) => {
    console.log(String(data.n));
    await new Promise(() => {});
  });
}
