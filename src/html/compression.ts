import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';

/**
 * Packs the answers of routes that are registered after it in `app`; what comes in packed is not unpacked. Only where
 * everything secret on a page looks different each time: how well a page packs may say something about it (BREACH).
 */
export async function registerCompression(app: FastifyInstance): Promise<void> {
  await app.register(compress, { encodings: ['br', 'gzip'], globalDecompression: false });
}
