import { LRUCache } from 'lru-cache';
import type { ListVersion } from '../queries/list-versions.ts';

/** Bytes of all cached responses. */
const MAX_BYTES = 8 * 1024 * 1024;
/** Minimum size of a cached response, in bytes. A shorter one is made in less than a millisecond. */
const MIN_BYTES = 64 * 1024;

type Chunks = readonly Buffer[];

/** Caches long lists until something in them changes. */
export type ResponseCache = {
  /** The list, if it is cached in this version. */
  get(key: string, version: ListVersion): Chunks | undefined;
  /** Passes the chunks of a list on, and caches them once all have been read. The read model must show this version. */
  caching(key: string, version: ListVersion, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
};

export function createResponseCache(): ResponseCache {
  const lists = new LRUCache<string, { readonly id: string; readonly chunks: Chunks }>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ chunks }) => chunks.reduce((sum, { byteLength }) => sum + byteLength, 0),
  });
  /** The response being collected. Only the latest one is, because a client may stop reading its response. */
  let collecting: Buffer[] | undefined;

  return {
    get(key, { id }) {
      const cached = lists.get(key);
      return cached?.id === id ? cached.chunks : undefined;
    },

    async *caching(key, { id }, chunks) {
      const own: Buffer[] = [];
      if (collecting !== undefined) collecting.length = 0;
      collecting = own;
      let bytes = 0;
      try {
        for await (const chunk of chunks) {
          bytes += chunk.byteLength;
          if (bytes > MAX_BYTES) own.length = 0;
          else if (collecting === own) own.push(chunk);
          yield chunk;
        }
        if (collecting === own && bytes >= MIN_BYTES && bytes <= MAX_BYTES) lists.set(key, { id, chunks: own });
      } finally {
        if (collecting === own) collecting = undefined;
      }
    },
  };
}
