import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';

/** Below the ephemeral range (from 32,768 on Linux, 49,152 elsewhere), so that no outgoing connection takes a port in the meantime. */
const [FIRST, END] = [11_000, 32_000];

/** The workers of a run have ports of their own: what one has found, no other takes before it listens there. */
const WORKERS = availableParallelism() + 3;
const SIZE = Math.floor((END - FIRST) / WORKERS);
const OWN = FIRST + SIZE * ((Number(process.env.VITEST_POOL_ID) || 1) % WORKERS);
/** Another run may have the same, so each begins elsewhere. */
let next = randomInt(SIZE);

/** Finds a free port, for a server whose URL has to be known before it listens. */
export async function freePort(): Promise<number> {
  next = (next + 1) % SIZE;
  const port = OWN + next;
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
