import { promisify } from 'node:util';
import { pino } from 'pino';
import { createApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { ask } from '../document-store/ask.ts';

/** Measurements of an attack inside a process of the service. */
export type Counts = {
  /** For the first brand: lists started and not ended, the maximum at once, and searches started. */
  readonly lists: number;
  readonly mostLists: number;
  readonly searches: number;
  readonly connections: number;
  readonly memoryMiB: number;
  /** Records of idempotency keys. */
  readonly claims: number;
};

/** More pages than socket buffers hold. */
const PAGES = 5_000;
/** How often a page of a list repeats its bookings. */
const TIMES = 100;

/**
 * A service process under attack, with the settings of its environment. The lists of the first brand are long, and its searches
 * for open days never end. It answers every message with its counts.
 */
const core = await openCore(readConfig(process.env), pino({ level: 'silent' }));
const app = await createApp(core);
core.projector.start();
await core.projector.readModels.readable(60_000);

const counted = { lists: 0, mostLists: 0, searches: 0 };
const { queries } = core;
const { pages } = queries.bookings;
queries.bookings.pages = async function* (account, filter) {
  if (account.id !== 1) return yield* pages(account, filter);
  counted.lists += 1;
  counted.mostLists = Math.max(counted.mostLists, counted.lists);
  try {
    for (let i = 0; i < PAGES; i += 1)
      for await (const page of pages(account, filter))
        yield { ...page, rows: Array.from({ length: TIMES }, () => page.rows).flat() };
  } finally {
    counted.lists -= 1;
  }
};
const { openDays } = queries;
const counting: typeof openDays = async (query) => {
  if (query.account.id !== 1) return openDays(query);
  counted.searches += 1;
  return new Promise<never>(() => {});
};
Object.assign(queries, { openDays: counting });

const claims = await core.documents.open({ name: 'idempotencyKeys', kind: 'record', indexes: [] });
process.on('message', async () => {
  const counts: Counts = {
    ...counted,
    connections: await promisify(app.server.getConnections.bind(app.server))(),
    memoryMiB: process.memoryUsage.rss() / 2 ** 20,
    claims: (await Array.fromAsync(claims.find(ask()))).length,
  };
  process.send?.(counts);
});
await app.listen({ host: '127.0.0.1', port: core.config.port });
process.send?.('ready');
