import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ClientRequest, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { foundAt, onPath, succeeds, type Tool } from '../tool.ts';
import { call } from './client.ts';
import { type ServiceProcess, startServiceProcess, temporaryDataDir } from './service-process.ts';

test('SIGTERM under load completes requests in flight, accepts no new ones, and exits with 0 within 10 s', async () => {
  const service = await startServiceProcess(temporaryDataDir());
  const demo = service.demo();
  const key = demo.brands[0]?.apiKey ?? '';
  const spaceId = demo.communities[0]?.spaces[0]?.id;

  let stopping = false;
  const load = Array.from({ length: 8 }, async () => {
    for (;;) {
      const answer = await call(service, key, '/bookings').catch((error: unknown) => error);
      // The system refuses late connections; no request gets an error response.
      if (stopping && answer instanceof Error) return;
      expect(answer).toMatchObject({ status: 200 });
    }
  });

  const body = JSON.stringify({ spaceId, startTime: inDays(40), startHour: 10 });
  const halfway = await begun(service, key, body.length);
  const responded = once(halfway, 'response');
  halfway.write(body.slice(0, 20));

  const began = performance.now();
  stopping = true;
  const ended = service.end('SIGTERM');
  await expect.poll(() => call(service, key, '/bookings').catch(() => 'refused')).toBe('refused');
  halfway.end(body.slice(20));
  const [response] = await responded;
  expect(response.statusCode).toBe(201);
  expect(JSON.parse(await text(response))).toMatchObject({ status: 'Pending', spaceId });

  expect(await ended).toBe(0);
  expect(performance.now() - began).toBeLessThan(10_000);
  await Promise.all(load);
});

test('a client that never finishes its request does not prevent a clean exit', async () => {
  const service = await startServiceProcess(temporaryDataDir());
  const stalled = await begun(service, service.demo().brands[0]?.apiKey ?? '', 100);
  const broken = once(stalled, 'error');
  stalled.write('{"spaceId":');
  expect(await service.end('SIGTERM')).toBe(0);
  await broken;
});

/** Makes the next process number 1, as in a container: such a process ignores signals that it does not handle. */
const AS_PROCESS_1 = ['--pid', '--fork', '--mount-proc', '--kill-child'];
const PID_NAMESPACE: Tool = {
  name: 'a process 1, as in a container',
  look: () =>
    succeeds(['unshare', ...AS_PROCESS_1, 'true'])
      ? { found: onPath('unshare') ?? '' }
      : { missing: 'no PID namespace', install: 'run the tests as root of a machine with Linux' },
};
const isProcess1 = !lacks(PID_NAMESPACE);

test.for([
  ['src/main.js', 'SIGTERM', 143],
  ['src/cli.js', 'SIGINT', 130],
] as const)('%s ends at once on %s while a store does not answer', async ([file, signal, code]) => {
  const silent = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const env = {
    PATH: process.env.PATH,
    DATA_DIR: temporaryDataDir(),
    SECRET_KEY: 'a'.repeat(64),
    MONGODB_URL: `mongodb://127.0.0.1:${port}/venue`,
  };
  const args = file === 'src/cli.js' ? ['rebuild'] : [];
  const [command = '', ...rest] = [
    ...(isProcess1 ? [foundAt(PID_NAMESPACE), ...AS_PROCESS_1] : []),
    process.execPath,
    file,
    ...args,
  ];
  const started = spawn(command, rest, { env, stdio: 'ignore' });
  onTestFinished(() => void started.kill('SIGKILL'));
  await once(silent, 'connection');
  const children = () => readFileSync(`/proc/${started.pid}/task/${started.pid}/children`, 'utf8');
  process.kill(isProcess1 ? Number(children().trim()) : (started.pid ?? 0), signal);
  // Outside a container, the command line leaves signals to the system.
  const isHandled = isProcess1 || file === 'src/main.js';
  expect(await once(started, 'exit')).toEqual(isHandled ? [code, null] : [null, signal]);
});

/** A request whose head the service has read and whose body is still missing. */
async function begun({ url }: ServiceProcess, key: string, length: number): Promise<ClientRequest> {
  const headers = { 'content-type': 'application/json', 'content-length': length, expect: '100-continue' };
  const started = request(`${url}/api/v1/bookings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...headers },
  });
  await once(started, 'continue');
  return started;
}
