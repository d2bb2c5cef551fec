import { parentPort, workerData } from 'node:worker_threads';
import type { RoleThreadData } from './role-threads.ts';

/** Runs roles in a thread, as the messages `begin`, `finish` and `stop` say ({@link RunningRoles}). */
const { config, roles, news, ended, begun }: RoleThreadData = workerData.data;
const port = parentPort;
if (port === null) throw new Error('To be run in a thread');

const { openRoles } = await import('./roles.ts');
const { createLogger } = await import('./logger.ts');
const { secretKeyOf } = await import('./secrets/secret-key.ts');
const ours = { ...config, secretKey: secretKeyOf(config.secretKey) };
const running = await openRoles(ours, createLogger(config), roles, { news, ended });
port.postMessage(running.session);
if (begun) await running.begin();
port.on('message', async (message: unknown) => {
  if (message === 'begin') await running.begin();
  if (message === 'finish') await running.finish();
  if (message !== 'stop') return;
  await running.stop();
  process.exit(0);
});
