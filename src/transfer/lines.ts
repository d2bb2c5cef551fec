import { createHash, type Hash } from 'node:crypto';
import { canonicalForm } from '../audit/portable-event.ts';
import type { Counts, Line, Trailer } from './format.ts';

/** Characters per write. */
const CHUNK = 256 * 1024;

/** The written part of an export. */
export type Written = { readonly hash: Hash; readonly counts: Counts };

export const nothingWritten = (): Written => ({
  hash: createHash('sha256'),
  counts: { events: 0, records: 0 },
});

export type Lines = ReturnType<typeof createLines>;

/**
 * Writes the lines of an export: buffers, counts and hashes them.
 * @param write resolves when it can be called again
 */
export function createLines(write: (chunk: Buffer) => Promise<void>, { hash, counts: before }: Written) {
  const counts = { ...before };
  let pending = '';

  async function flush(): Promise<void> {
    const chunk = Buffer.from(pending);
    pending = '';
    hash.update(chunk);
    await write(chunk);
  }

  return {
    /** Writes the first line. Not for a continued export, which has it already. */
    begin(header: Extract<Line, { readonly export: unknown }>): void {
      pending += `${canonicalForm(header)}\n`;
    },
    async add(kind: keyof Counts, line: Line): Promise<void> {
      counts[kind] += 1;
      pending += `${canonicalForm(line)}\n`;
      if (pending.length > CHUNK) await flush();
    },
    /** Writes the last line. */
    async end(): Promise<Trailer> {
      await flush();
      const trailer: Trailer = { ...counts, sha256: hash.digest('hex') };
      await write(Buffer.from(`${canonicalForm({ trailer })}\n`));
      return trailer;
    },
  };
}
