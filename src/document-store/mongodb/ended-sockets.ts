import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

/** The patched part of the driver's connections. */
type Connections = {
  readonly prototype: {
    writeCommand(this: { readonly socket: Socket }, ...given: unknown[]): Promise<void>;
  };
};

const patched = new WeakSet<Connections>();

/**
 * Fixes a hang in the driver (7.8, 7.9). When a write fills the socket's buffer, the driver waits for `drain`, which never comes if
 * the socket ends. The operation then never ends; if it is the server check, no operation of this process ever finds a server
 * again. Without it, connections that are cut (docs/promises.md) fail `reconnects to the server after all of its connections have closed at
 * once` in test/document-store/mongodb/document-store.test.ts, and test/cut-connections.test.ts.
 */
export function noticeEndedSockets(): void {
  const { Connection }: { readonly Connection: Connections } = createRequire(import.meta.url)(
    'mongodb/lib/cmap/connection.js',
  );
  if (patched.has(Connection)) return;
  patched.add(Connection);
  const { writeCommand } = Connection.prototype;
  Connection.prototype.writeCommand = function (...given) {
    const { socket } = this;
    return new Promise((resolve, reject) => {
      const ended = () => resolve();
      const succeed = () => {
        socket.off('close', ended);
        resolve();
      };
      // The connection has already seen the end and throws its own specific error.
      if (socket.closed) return ended();
      socket.once('close', ended);
      writeCommand.apply(this, given).then(succeed, (error: unknown) => {
        socket.off('close', ended);
        reject(error);
      });
    });
  };
}
