import { projections } from '../../projections/index.ts';
import { spaces } from '../../projections/spaces.ts';
import type { Core } from '../../src/app.ts';
import { rebuild as rebuildReadModels } from '../../src/projector/rebuild.ts';
import { type Bench, interleaved } from './figure.ts';
import { appendBookings, makeVenue, withCore } from './venue.ts';

const EVENTS = 30_000;
const ROUNDS = 3;

/** A rebuild of every read model against reading and parsing the same log. */
export const rebuild: Bench = async () => {
  const venue = await makeVenue(1);
  try {
    return await withCore(venue.dataDir, async (core) => {
      const space = await core.projector.readModels.collection(spaces).get(String(venue.spaceIds[0]));
      if (space === undefined) throw new Error('The space is not in the read model');
      await appendBookings(core, venue, space.document, EVENTS);
      while ((await core.projector.status()).lag > 0) await new Promise((resolve) => setTimeout(resolve, 100));
      await read(core);
      const { value, ceiling, ratio } = await interleaved(ROUNDS, {
        value: () => perSecond(() => rebuildReadModels({ ...core, projections })),
        ceiling: () => perSecond(() => read(core)),
      });
      return [
        {
          name: 'rebuild of all read models',
          value,
          unit: 'events/s',
          ceiling: { what: 'reading and parsing the log', value: ceiling },
          ratio,
          aim: { atLeast: 0.5 },
        },
      ];
    });
  } finally {
    await venue.remove();
  }
};

async function read({ events }: Core): Promise<void> {
  let count = 0;
  for await (const _ of events.readAll()) count += 1;
  if (count < EVENTS) throw new Error(`The log has only ${count} events`);
}

async function perSecond(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (EVENTS / (performance.now() - startedAt)) * 1_000;
}
