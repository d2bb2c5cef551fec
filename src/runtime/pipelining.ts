import type { FastifyInstance } from 'fastify';

/**
 * Begins a pipelined request only once the answers before it on its connection have been written, so that a client that sends requests
 * and reads nothing has one of them worked on, and none after it has gone. To be called before hooks are added.
 */
export function answerInOrder(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, { raw }, done) => {
    // Node assigns the socket to one response of a connection after another. If the connection is closed before, that never happens.
    if (raw.socket === null) raw.once('socket', () => done());
    else done();
  });
}
