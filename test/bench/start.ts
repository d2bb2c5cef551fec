import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNode } from '../service/node-process.ts';
import { type Bench, median } from './figure.ts';

const ROUNDS = 5;

/** From the start of the process to its first response: with the data of an earlier start, and with none. */
export const start: Bench = async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'venue-bench-'));
  const started = async (file: string, env: Readonly<Record<string, string>>) => {
    const process = await startNode(file, '/healthz', { LOG_LEVEL: 'warn', ...env });
    await process.end('SIGKILL');
    return process.startedIn;
  };
  try {
    await started('src/main.js', { DATA_DIR: dataDir });
    const rounds = { bare: [] as number[], existing: [] as number[], first: [] as number[] };
    for (let round = 0; round < ROUNDS; round += 1) {
      rounds.bare.push(await started('test/bench/bare-server.ts', {}));
      rounds.existing.push(await started('src/main.js', { DATA_DIR: dataDir }));
      rounds.first.push(await started('src/main.js', { DATA_DIR: join(dataDir, `first-${round}`) }));
    }
    const ceiling = { what: 'bare Fastify', value: median(rounds.bare) };
    return [
      { name: 'start to first response', value: median(rounds.existing), unit: 'ms', ceiling, aim: { below: 700 } },
      {
        name: 'first start to first response, with demo data',
        value: median(rounds.first),
        unit: 'ms',
        ceiling,
        aim: { below: 1_000 },
      },
    ];
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
};
