import { constants } from 'node:zlib';
import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';

/**
 * Compresses the responses of routes registered after it in `app`, but decompresses no requests. Use it only where every secret on a page
 * differs from response to response, because the compressed size could otherwise leak it (BREACH). Answers to callers who send their credential
 * in a header are safe too: no other site can make a browser send it.
 */
export async function registerCompression(app: FastifyInstance): Promise<void> {
  await app.register(compress, {
    encodings: ['br', 'gzip'],
    globalDecompression: false,
    // A streamed answer must not wait for what follows: each part is sent when it has been made.
    zlibOptions: { flush: constants.Z_SYNC_FLUSH },
    brotliOptions: {
      flush: constants.BROTLI_OPERATION_FLUSH,
      params: {
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_QUALITY]: 4,
        // 256 KiB. A stream needs 1 MiB instead of 3, for answers that are as small.
        [constants.BROTLI_PARAM_LGWIN]: 18,
      },
    },
  });
}
