import { expect, onTestFinished, test } from 'vitest';
import { RELEASE } from '../../src/release.ts';
import { jsonWith } from '../cli/in-process.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { type NodeProcess, startNode } from './node-process.ts';
import { temporaryDataDir } from './service-process.ts';

const ROLES = ['api', 'api', 'projector', 'projector', 'webhooks', 'scheduler'] as const;
const ROUNDS = 4;

test('six processes with one role each, killed at random, answer on their metrics ports', async () => {
  const DATA_DIR = temporaryDataDir();
  async function start(role: (typeof ROLES)[number]) {
    const METRICS_PORT = String(await freePort());
    // Without the role api, PORT is free for the port that `startNode` asks.
    const PORT = role === 'api' ? String(await freePort()) : METRICS_PORT;
    const env = { DATA_DIR, ROLES: role, METRICS_PORT, PORT, DEMO: 'false', LOG_LEVEL: 'warn' };
    const process: NodeProcess = await startNode('src/main.js', '/healthz', env);
    onTestFinished(async () => void (await process.end('SIGKILL')));
    return { role, process, ask: (path: string) => fetch(`http://127.0.0.1:${METRICS_PORT}${path}`) };
  }
  const running = await Promise.all(ROLES.map(start));
  const areReady = () =>
    eventually(async () => {
      for (const { role, ask } of running) {
        const answer = await ask('/readyz');
        expect([role, answer.status, await answer.json()]).toMatchObject([role, 200, { status: 'ready' }]);
      }
    });
  await areReady();

  for (let round = 0; round < ROUNDS; round += 1) {
    const at = Math.floor(Math.random() * running.length);
    const [killed] = running.splice(at, 1);
    if (killed === undefined) throw new Error('No process');
    await killed.process.end('SIGKILL');
    for (const { role, ask } of running) {
      const answers = await Promise.all(['/healthz', '/readyz', '/metrics'].map(ask));
      expect([role, ...answers.map(({ status }) => status)]).toEqual([role, 200, expect.any(Number), 200]);
    }
    running.push(await start(killed.role));
  }
  await areReady();

  type Shown = { readonly roles: readonly string[]; readonly release: string; readonly active: readonly string[] };
  await eventually(async () => {
    const { processes }: { readonly processes: readonly Shown[] } = await jsonWith({ DATA_DIR }, 'status');
    expect(processes.flatMap(({ roles }) => roles).toSorted()).toEqual([...ROLES].toSorted());
    expect(new Set(processes.map(({ release }) => release))).toEqual(new Set([RELEASE]));
    expect(processes.flatMap(({ active }) => active).toSorted()).toEqual(['projector', 'scheduler', 'webhooks']);
  });
});
