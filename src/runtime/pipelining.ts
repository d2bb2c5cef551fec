import type { FastifyInstance } from 'fastify';

/**
 * Starts a pipelined request only after the earlier responses on its connection have been written. A client that reads no responses
 * thus occupies one handler at most. Call it before hooks are added.
 */
export function answerInOrder(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, { raw }, done) => {
    // Node assigns the socket to the responses of a connection in turn, and never if the connection closes first.
    if (raw.socket === null) raw.once('socket', () => done());
    else done();
  });
}
