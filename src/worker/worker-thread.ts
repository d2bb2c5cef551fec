import { MessagePort, parentPort, workerData } from 'node:worker_threads';
import { createLink } from '../runtime/link.ts';
import { createLogClient } from '../threads/log-client.ts';
import type { RunningRoles } from './roles.ts';
import type { WorkerData } from './start-worker.ts';

// Runs roles in the worker, controlled by the messages `begin`, `finish` and `stop`. The main thread sends a port to the log thread, and
// another one after each restart of that thread.
const { config, roles, formerWorkers, begun }: WorkerData = workerData.data;
if (parentPort === null) throw new Error('This file must run in a worker thread');
const parent = parentPort;

const log = createLogClient({ receivesCommits: true });
let logPort: MessagePort | undefined;
function connectLog(port: MessagePort): void {
  logPort = port;
  log.connect(port);
  port.on('close', () => {
    if (port === logPort) log.disconnect();
  });
}

const opened = Promise.withResolvers<RunningRoles>();
parent.on('message', async (message: unknown) => {
  if (message instanceof MessagePort) return connectLog(message);
  if (typeof message !== 'string') return;
  const running = await opened.promise;
  if (message === 'begin') await running.begin();
  if (message === 'finish') await running.finish();
  if (message !== 'stop') return;
  await running.stop();
  process.exit(0);
});
const link = createLink();
link.connect(parent);

const { openRoles } = await import('./roles.ts');
const { createLogger } = await import('../logger.ts');
const { secretKeyOf } = await import('../secrets/secret-key.ts');
const ours = { ...config, secretKey: secretKeyOf(config.secretKey) };
const running = await openRoles(ours, createLogger(config), roles, { formerWorkers, link, log });
parent.postMessage(running.session);
if (begun) await running.begin();
opened.resolve(running);
