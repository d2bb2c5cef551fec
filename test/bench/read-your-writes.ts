import { brandId } from '../../src/domain/ids.ts';
import { streamOf } from '../../src/domain/streams.ts';
import { startNode } from '../service/node-process.ts';
import { type Bench, type Figure, percentile } from './figure.ts';
import { makeVenue, recorded, type Venue, withCore } from './venue.ts';

const SAMPLES = 600;

/** Milliseconds from when an event is durable until readers see it, in the process that projects and in another one. */
export const readYourWrites: Bench = async () => {
  const venue = await makeVenue(1);
  try {
    const own = await sample(venue, 1_000);
    const service = await startNode('src/main.js', '/readyz', {
      DATA_DIR: venue.dataDir,
      DEMO: 'false',
      LOG_LEVEL: 'warn',
    });
    const other = await sample(venue, 10_000);
    await service.end('SIGKILL');
    return [...figures('projected in this process', own), ...figures('projected in another process', other)];
  } finally {
    await venue.remove();
  }
};

const figures = (where: string, { appended, lags }: Samples): Figure[] =>
  [50, 99].map((p) => ({
    name: `read-your-writes, ${where}, p${p}`,
    value: percentile(lags, p),
    unit: 'ms',
    ceiling: { what: 'the durable append itself', value: percentile(appended, p) },
  }));

type Samples = { readonly appended: readonly number[]; readonly lags: readonly number[] };

/** Appends events one after another and waits for each, as a command does. */
async function sample({ dataDir }: Venue, firstId: number): Promise<Samples> {
  const appended: number[] = [];
  const lags: number[] = [];
  await withCore(dataDir, async (core) => {
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
  });
  return { appended, lags };
}
