import { parentPort, workerData } from 'node:worker_threads';
import type { RoleThreadData } from './role-threads.ts';

/** Runs roles in a thread, until the message `stop`; `finish` ends all but projecting before that. */
const { config, roles, news, ended }: RoleThreadData = workerData.data;
const port = parentPort;
if (port === null) throw new Error('To be run in a thread');

const { runRoles } = await import('./roles.ts');
const { createLogger } = await import('./logger.ts');
// A buffer arrives as plain bytes.
const ours = { ...config, secretKey: Buffer.from(config.secretKey) };
const running = await runRoles({
  ...{ config: ours, logger: createLogger(config), roles },
  options: { news, ended },
  opened: (session) => port.postMessage(session),
});
port.on('message', async (message: unknown) => {
  if (message === 'finish') running.finish();
  if (message !== 'stop') return;
  await running.stop();
  process.exit(0);
});
