import type { Server } from 'node:http';

/**
 * Requests that arrived together. The event loop asks the system once for all sockets that have something to read, and then handles
 * one after another. So each of these requests was sent before the first of them is handled, and what is found out for one of them
 * is recent enough for the others: none of their clients can have heard of anything later when it asked.
 */
let batch = 0;
/** Whether the requests of the last batch are still being handled. */
let isOpen = false;

/** Notes when requests arrive at a server. */
export function noteArrivals(server: Server): void {
  // Requests are emitted while sockets are being read. What has been set for `setImmediate` runs when all have been.
  server.prependListener('request', () => {
    if (isOpen) return;
    isOpen = true;
    batch += 1;
    setImmediate(close);
  });
}

function close(): void {
  isOpen = false;
}

/** Identifies the requests that are being handled, together with those that arrived with them; undefined while there are none. */
export const requestBatch = (): number | undefined => (isOpen ? batch : undefined);
