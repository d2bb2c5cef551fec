import { LRUCache } from 'lru-cache';
import type { ListVersion } from '../queries/list-versions.ts';

/** Bytes of lists that are kept, */
const KEPT_BYTES = 8 * 1024 * 1024;
/** and of a list that is worth it. Shorter ones are made in less than a millisecond. */
const LONG_BYTES = 64 * 1024;

type Chunks = readonly Buffer[];

/** Keeps long lists for as long as nothing in them has changed (docs/decisions/rest-api.md). */
export type KeptLists = {
  /** The list, if it is kept in this version. */
  get(key: string, version: ListVersion): Chunks | undefined;
  /** Passes the chunks of a list on, and keeps them once all have been read. The list must have been shown in this version. */
  keep(key: string, version: ListVersion, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
};

const bytesOf = (chunks: Chunks): number => chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);

export function createKeptLists(): KeptLists {
  const lists = new LRUCache<string, { readonly id: string; readonly chunks: Chunks }>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ chunks }) => bytesOf(chunks),
  });
  /** What has been read of the list that is to be kept next. Of one only: its client may never read the rest. */
  let collected: Buffer[] = [];

  return {
    get(key, { id }) {
      const kept = lists.get(key);
      return kept?.id === id ? kept.chunks : undefined;
    },

    async *keep(key, { id }, chunks) {
      const own: Buffer[] = [];
      collected.length = 0;
      collected = own;
      let bytes = 0;
      try {
        for await (const chunk of chunks) {
          bytes += chunk.byteLength;
          if (bytes > KEPT_BYTES) own.length = 0;
          else if (collected === own) own.push(chunk);
          yield chunk;
        }
        if (collected === own && bytes >= LONG_BYTES && bytes <= KEPT_BYTES) lists.set(key, { id, chunks: own });
      } finally {
        if (collected === own) collected = [];
      }
    },
  };
}
