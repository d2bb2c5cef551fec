import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/** Below this many bytes packing saves nothing that anybody would notice. */
const WORTHWHILE = 1_000;

type Compressed = { readonly encoding: 'br' | 'gzip' | undefined; readonly body: Buffer };

/**
 * A body as the browser takes it best. Small texts, so at once and on the spot: a page of 40 kB takes less than a
 * millisecond.
 * @param kept what was packed before, by encoding, for bodies that stay the same: those are packed as tightly as possible
 */
export function compressed(content: Buffer, accepted: string | undefined, kept?: Map<string, Buffer>): Compressed {
  const encoding = content.length < WORTHWHILE ? undefined : encodingOf(accepted ?? '');
  if (encoding === undefined) return { encoding, body: content };
  const before = kept?.get(encoding);
  if (before !== undefined) return { encoding, body: before };
  const body = encoding === 'br' ? brotli(content, kept === undefined ? 4 : 9) : gzipSync(content);
  kept?.set(encoding, body);
  return { encoding, body };
}

const brotli = (content: Buffer, quality: number): Buffer =>
  brotliCompressSync(content, {
    params: { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
  });

/** The better of what the browser names without refusing it (`;q=0`). */
function encodingOf(accepted: string): 'br' | 'gzip' | undefined {
  const taken = accepted
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => !/;\s*q=0(?:\.0*)?$/.test(part))
    .map((part) => part.split(';', 1)[0]);
  if (taken.includes('br')) return 'br';
  return taken.includes('gzip') ? 'gzip' : undefined;
}
