import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';

/**
 * Compresses the responses of routes registered after it in `app`, but decompresses no requests. Use it only where every secret on a page
 * differs from response to response, because the compressed size could otherwise leak it (BREACH).
 */
export async function registerCompression(app: FastifyInstance): Promise<void> {
  await app.register(compress, { encodings: ['br', 'gzip'], globalDecompression: false });
}
