import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Finds a free port, for a server whose URL has to be known before it listens. It is below the ephemeral range (from 32,768 on
 * Linux, 49,152 elsewhere), so that no outgoing connection takes it in the meantime.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(11_000, 32_000);
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return freePort();
    throw error;
  }
  server.close();
  await once(server, 'close');
  return port;
}
