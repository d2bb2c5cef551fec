import { createHash, type Hash } from 'node:crypto';
import { canonicalForm } from '../audit/portable-event.ts';
import type { Counts, Line, Trailer } from './format.ts';

/** Characters per write. */
const CHUNK = 256 * 1024;
/** An export has no longer lines: an event is a mebibyte at most. */
const LONGEST = 64 * 1024 * 1024;

/** The written part of an export. */
export type Written = { readonly hash: Hash; readonly counts: Counts };

export const nothingWritten = (): Written => ({
  hash: createHash('sha256'),
  counts: { events: 0, groups: 0, records: 0 },
});

/** Writes the lines of an export: buffers, counts and hashes them. */
export type Lines = {
  /** The first line, unless it has been written. */
  begin(header: Extract<Line, { readonly export: unknown }>): Promise<void>;
  add(kind: keyof Counts, line: Line): Promise<void>;
  /** Writes the last line. */
  end(): Promise<Trailer>;
};

/** @param write resolves when more can be written */
export function createLines(write: (chunk: Buffer) => Promise<void>, { hash, counts: before }: Written): Lines {
  const counts = { ...before };
  let pending = '';

  async function flush(): Promise<void> {
    const chunk = Buffer.from(pending);
    pending = '';
    hash.update(chunk);
    await write(chunk);
  }

  return {
    async begin(header) {
      pending += `${canonicalForm(header)}\n`;
    },
    async add(kind, line) {
      counts[kind] += 1;
      pending += `${canonicalForm(line)}\n`;
      if (pending.length > CHUNK) await flush();
    },
    async end() {
      await flush();
      const trailer: Trailer = { ...counts, sha256: hash.digest('hex') };
      await write(Buffer.from(`${canonicalForm({ trailer })}\n`));
      return trailer;
    },
  };
}

/** A line of text. The last one may lack its end. */
export type TextLine = { readonly text: string; readonly isWhole: boolean };

/**
 * The lines of a file.
 * @throws {RangeError} if one is longer than any line of an export
 * @throws {TypeError} if it is not UTF-8, whose hash would differ from the file's
 */
export async function* textLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<TextLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let rest = '';
  for await (const chunk of chunks) {
    // Not readline, which also splits at U+2028; JSON leaves that as it is.
    const found = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = found.pop() ?? '';
    if (rest.length > LONGEST) throw new RangeError('A line is too long');
    for (const text of found) yield { text, isWhole: true };
  }
  rest += lastOf(decoder);
  if (rest !== '') yield { text: rest, isWhole: false };
}

/** The rest of the decoder: a file may be cut within a character. */
function lastOf(decoder: TextDecoder): string {
  try {
    return decoder.decode();
  } catch {
    return '\ufffd';
  }
}
