import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNode } from '../service/node-process.ts';
import { type Bench, type Figure, median, rangeOf } from './figure.ts';
import { fillWithBookings } from './long-log.ts';
import { makeVenue } from './venue.ts';

const ROUNDS = 5;
const MANY_EVENTS = 5_000_000;

type Settings = Readonly<Record<string, string>>;

/** Milliseconds from the start of a process to its first response. */
async function started(file: string, settings: Settings = {}): Promise<number> {
  const process = await startNode(file, '/healthz', { LOG_LEVEL: 'warn', ...settings });
  await process.end('SIGKILL');
  return process.startedIn;
}

const bare = () => started('test/bench/bare-server.ts');

/** From the start of the process to its first response: with the data of an earlier start, and with none. */
export const start: Bench = async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'venue-bench-'));
  try {
    await started('src/main.js', { DATA_DIR: dataDir });
    let firsts = 0;
    return await inTurns({
      'start to first response': { start: () => started('src/main.js', { DATA_DIR: dataDir }), belowMs: 700 },
      'first start to first response, with demo data': {
        start: () => started('src/main.js', { DATA_DIR: join(dataDir, `first-${firsts++}`) }),
        belowMs: 1_000,
      },
    });
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
};

/** The same on a log of five million events, whose read models are complete. Making it takes minutes. */
export const startOnLongLog: Bench = async () => {
  const venue = await makeVenue();
  try {
    await fillWithBookings(venue, Math.ceil(MANY_EVENTS / 3), 'completed');
    const settings = { DATA_DIR: venue.dataDir, DEMO: 'false' };
    const name = `start to first response, ${MANY_EVENTS.toLocaleString('en')} events in the log`;
    return await inTurns({ [name]: { start: () => started('src/main.js', settings), belowMs: 2_000 } });
  } finally {
    await venue.remove();
  }
};

async function inTurns(
  starts: Readonly<Record<string, { readonly start: () => Promise<number>; readonly belowMs: number }>>,
): Promise<Figure[]> {
  const bareMs: number[] = [];
  const all = Object.entries(starts).map(([name, what]) => ({ name, ...what, ms: [] as number[] }));
  for (let round = 0; round < ROUNDS; round += 1) {
    bareMs.push(await bare());
    for (const { start, ms } of all) ms.push(await start());
  }
  const ceiling = { what: 'bare Fastify', value: median(bareMs) };
  return all.map(({ name, ms, belowMs }) => ({
    ...{ name, value: median(ms), unit: 'ms', ranges: { value: rangeOf(ms) }, ceiling },
    aim: { below: belowMs },
  }));
}
