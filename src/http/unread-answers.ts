import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** How long a client may read nothing of its answer. */
const UNREAD_FOR_MS = 20_000;
/** The same while answers wait because of those that are not read. */
const UNREAD_WHILE_OTHERS_WAIT_MS = 5_000;
/** Bytes that wait in this process for their clients, of all connections, before the shorter time holds. */
const MOST_UNREAD_BYTES = 64 * 1024 * 1024;
const CHECK_EVERY_MS = 1_000;

/** What was written to a connection and what of it has not been sent, at the time of the last progress. */
type Progress = { readonly sent: number; readonly queued: number; readonly at: number };

/**
 * Closes connections whose clients do not read their answers. Node's own timeout starts again with each write, and while the kernel still
 * takes a part of what was written.
 * @param options.areOthersWaiting whether answers wait for those that are being sent
 */
export function closeUnread(server: Server, options: { readonly areOthersWaiting: () => boolean }): void {
  const sockets = new Map<Socket, Progress | undefined>();
  /** Only while there are connections: a service at rest does not wake up. */
  let checking: NodeJS.Timeout | undefined;
  server.on('connection', (socket) => {
    sockets.set(socket, undefined);
    checking ??= setInterval(check, CHECK_EVERY_MS).unref();
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size > 0) return;
      clearInterval(checking);
      checking = undefined;
    });
  });

  function check(): void {
    const now = performance.now();
    let unread = 0;
    for (const socket of sockets.keys()) unread += socket.writableLength;
    const isTight = unread > MOST_UNREAD_BYTES || options.areOthersWaiting();
    const within = isTight ? UNREAD_WHILE_OTHERS_WAIT_MS : UNREAD_FOR_MS;
    for (const [socket, last] of sockets) {
      const progress = progressOf(socket, last, now);
      sockets.set(socket, progress);
      if (progress !== undefined && now - progress.at >= within) socket.destroy();
    }
  }
}

/** Undefined if everything was sent. */
function progressOf(socket: Socket, last: Progress | undefined, now: number): Progress | undefined {
  if (socket.writableLength === 0) return undefined;
  const sent = socket.bytesWritten - socket.writableLength;
  const queued = queuedIn(socket);
  return last === undefined || sent > last.sent || queued < last.queued
    ? { sent, queued, at: now }
    : { ...last, queued };
}

/** What the kernel has not taken of the current write. `writableLength` counts a write as a whole until its last byte was sent. */
function queuedIn(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, '_handle');
  const queued: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'writeQueueSize') : 0;
  return typeof queued === 'number' ? queued : 0;
}
