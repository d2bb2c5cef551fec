import type { FastifyPluginAsync } from 'fastify';
import { sendError } from './errors.ts';

/** The path of the public key that verifies checkpoints of the log (docs/guides/audit.md). */
const SEAL_KEY_PATH = '/.well-known/seal-key';

/** Publishes the key as one line of text, without authentication: an auditor needs no account. */
export const sealKeyRoute =
  (deps: { readonly publishedKey: () => Promise<string | undefined> }): FastifyPluginAsync =>
  async (app) => {
    app.get(SEAL_KEY_PATH, async (_request, reply) => {
      const key = await deps.publishedKey();
      if (key === undefined) return sendError(reply, 'ResourceNotFound', 'The key has not been made yet');
      return reply.type('text/plain; charset=utf-8').send(`${key}\n`);
    });
  };
