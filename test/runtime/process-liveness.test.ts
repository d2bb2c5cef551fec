import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { isKnownDead, THIS_PROCESS } from '../../src/runtime/process-liveness.ts';
import { lacks } from '../lacks.ts';
import type { Tool } from '../tool.ts';

/** The pid of a process that was killed and reaped. */
async function killed(): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  await once(child, 'spawn');
  child.kill('SIGKILL');
  await once(child, 'close');
  return child.pid ?? 0;
}

const { pidNamespace } = THIS_PROCESS;
const PROC: Tool = {
  name: 'the table of processes',
  look: () =>
    existsSync('/proc/self/stat')
      ? { found: '/proc' }
      : { missing: 'no /proc', install: 'run the tests on a machine with Linux' },
};

test('this process and its parent are not known to be dead', () => {
  expect(isKnownDead(THIS_PROCESS)).toBe(false);
  expect(isKnownDead({ pidNamespace, pid: process.ppid })).toBe(false);
});

test('a process that was killed is known to be dead on this machine only', async () => {
  const pid = await killed();
  expect(isKnownDead({ pidNamespace, pid })).toBe(true);
  expect(isKnownDead({ pidNamespace, pid, startedAt: '1' })).toBe(true);
  expect(isKnownDead({ pidNamespace: 'another machine', pid })).toBe(false);
});

test.skipIf(lacks(PROC))(
  'a machine with the same name and its own first PID namespace is a different machine',
  async () => {
    const ofTheSameName = `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
    expect(isKnownDead({ pidNamespace: ofTheSameName, pid: await killed() })).toBe(false);
  },
);

test('PLACE distinguishes two machines that share everything else', async () => {
  const file = new URL('../../src/runtime/process-liveness.ts', import.meta.url).href;
  const isDeadFrom = async (place: string): Promise<string> => {
    const identity = JSON.stringify({ pidNamespace, pid: await killed() });
    const code = `import(${JSON.stringify(file)}).then(({ isKnownDead }) => console.log(isKnownDead(${identity})))`;
    const child = spawn(process.execPath, ['-e', code], { env: { ...process.env, PLACE: place } });
    return (await Array.fromAsync(child.stdout)).join('').trim();
  };
  expect(await isDeadFrom('')).toBe('true');
  expect(await isDeadFrom('rack-2')).toBe('false');
});

test.skipIf(lacks(PROC))('an earlier process with the same pid is known to be dead', () => {
  expect(isKnownDead({ ...THIS_PROCESS, startedAt: '1' })).toBe(true);
  expect(isKnownDead({ pidNamespace, pid: process.ppid, startedAt: '1' })).toBe(true);
});

test('a worker thread has the identity of its process', async () => {
  const file = new URL('../../src/runtime/process-liveness.ts', import.meta.url).href;
  const code = `import(${JSON.stringify(file)}).then(({ THIS_PROCESS }) => require('node:worker_threads').parentPort.postMessage(THIS_PROCESS))`;
  const worker = new Worker(code, { eval: true });
  const [identity] = await once(worker, 'message');
  expect(identity).toEqual(THIS_PROCESS);
  await worker.terminate();
});
