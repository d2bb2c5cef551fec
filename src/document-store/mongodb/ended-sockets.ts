import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

/** The part of the driver's own connections that is mended. */
type Connections = {
  readonly prototype: {
    writeCommand(this: { readonly socket: Socket }, ...given: unknown[]): Promise<void>;
  };
};

const mended = new WeakSet<Connections>();

/**
 * Keeps the driver (7.8, 7.9) from waiting for ever. When it cannot write, it waits until the socket has room again; one that ends
 * meanwhile, or has ended and not said so yet, never has. Without this, the operation does not end. If it is the one by which the
 * driver looks whether the server is there, it never looks again, and no operation of this process ever finds a server.
 */
export function noticeEndedSockets(): void {
  const { Connection }: { readonly Connection: Connections } = createRequire(import.meta.url)(
    'mongodb/lib/cmap/connection.js',
  );
  if (mended.has(Connection)) return;
  mended.add(Connection);
  const { writeCommand } = Connection.prototype;
  Connection.prototype.writeCommand = function (...given) {
    const { socket } = this;
    return new Promise((resolve, reject) => {
      const ended = () => resolve();
      const written = () => {
        socket.off('close', ended);
        resolve();
      };
      // The connection has heard of it before, and refuses to go on with an error that can be told from others.
      if (socket.closed) return ended();
      socket.once('close', ended);
      writeCommand.apply(this, given).then(written, (error: unknown) => {
        socket.off('close', ended);
        reject(error);
      });
    });
  };
}
