import type { Core } from '../../src/app.ts';
import { brandId } from '../../src/domain/ids.ts';
import { streamOf } from '../../src/domain/streams.ts';
import { startNode } from '../service/node-process.ts';
import { type Bench, type Figure, percentile } from './figure.ts';
import { makeVenue, recorded, type Venue, withCore } from './venue.ts';

const SAMPLES = 600;

type Projecting = Parameters<typeof withCore>[3];

/** Milliseconds from when an event is durable until whoever appended it sees it, by who projects. */
export const readYourWrites: Bench = async () => {
  const venue = await makeVenue(1);
  try {
    const own = await sample(venue, 1_000, 'here');
    const thread = await sample(venue, 5_000, 'in a thread');
    const service = await startNode('src/main.js', '/readyz', {
      DATA_DIR: venue.dataDir,
      DEMO: 'false',
      LOG_LEVEL: 'warn',
    });
    const other = await sample(venue, 10_000, 'elsewhere');
    await service.end('SIGKILL');
    return [
      ...figures('projected by the thread that asks', own),
      ...figures('projected by another thread', thread, 1),
      ...figures('projected by another process', other, 5),
    ];
  } finally {
    await venue.remove();
  }
};

const figures = (where: string, { appended, lags }: Samples, below?: number): Figure[] =>
  [50, 99].map((p) => ({
    name: `read-your-writes, ${where}, p${p}`,
    value: percentile(lags, p),
    unit: 'ms',
    ceiling: { what: 'the durable append itself', value: percentile(appended, p) },
    ...(p === 50 && below !== undefined && { aim: { below } }),
  }));

type Samples = { readonly appended: readonly number[]; readonly lags: readonly number[] };

/** Appends events one after another and waits for each, as a command does. */
async function sample({ dataDir }: Venue, firstId: number, projecting: Projecting): Promise<Samples> {
  const appended: number[] = [];
  const lags: number[] = [];
  const work = async (core: Core) => {
    for (let i = 0; i < SAMPLES; i += 1) {
      const id = firstId + i;
      const startedAt = performance.now();
      const events = [recorded({ type: 'BrandAdded', data: { brandId: brandId(id), name: 'Bench' } })];
      const { position } = await core.events.append(streamOf.brand(id), events, { expectedRevision: 'none' });
      const durable = performance.now();
      if (!(await core.projector.readModels.waitFor(position))) throw new Error('The read models did not catch up');
      appended.push(durable - startedAt);
      lags.push(performance.now() - durable);
    }
  };
  await withCore(dataDir, work, {}, projecting);
  return { appended, lags };
}
