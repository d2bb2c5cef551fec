import { parentPort, workerData } from 'node:worker_threads';
import type { RoleThreadData } from './role-threads.ts';
import type { RunningRoles } from './roles.ts';
import { borrowStoreWriter } from './threads/store-writer.ts';

/** Runs roles in a thread, as the messages `begin`, `finish` and `stop` say ({@link RunningRoles}). */
const { config, roles, news, ended, begun }: RoleThreadData = workerData.data;
const port = parentPort;
if (port === null) throw new Error('To be run in a thread');

const { writer, take } = borrowStoreWriter();
const opened = Promise.withResolvers<RunningRoles>();
port.on('message', async (message: unknown) => {
  if (take(message)) return;
  const running = await opened.promise;
  if (message === 'begin') await running.begin();
  if (message === 'finish') await running.finish();
  if (message !== 'stop') return;
  await running.stop();
  process.exit(0);
});

const { openRoles } = await import('./roles.ts');
const { createLogger } = await import('./logger.ts');
const { secretKeyOf } = await import('./secrets/secret-key.ts');
const ours = { ...config, secretKey: secretKeyOf(config.secretKey) };
const running = await openRoles(ours, createLogger(config), roles, { news, ended, writer });
port.postMessage(running.session);
if (begun) await running.begin();
opened.resolve(running);
