import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OWNER_ONLY } from '../runtime/private-file.ts';
import { textLines } from '../runtime/text-lines.ts';
import { UnusableCopy } from './unusable-copy.ts';

/** A file of a backup: newline-delimited JSON, with its size and digest. */
export type Lines = {
  /** Its path inside the backup. */
  readonly file: string;
  readonly lines: number;
  readonly bytes: number;
  /** In hex. */
  readonly sha256: string;
};

/** Characters per write. */
const CHUNK = 256 * 1024;
/** In characters. A backup has no longer lines: an event is a mebibyte at most. */
const LONGEST = 64 * 1024 * 1024;

/** Writes a file readable only by its owner. It is on disk when this resolves. */
export async function writeLines(folder: string, file: string, values: AsyncIterable<object>): Promise<Lines> {
  const path = join(folder, file);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const handle = await open(path, 'w', OWNER_ONLY);
  try {
    const hash = createHash('sha256');
    let [lines, bytes, pending] = [0, 0, ''];
    const flush = async () => {
      const chunk = Buffer.from(pending);
      pending = '';
      hash.update(chunk);
      bytes += chunk.length;
      await handle.writeFile(chunk);
    };
    for await (const value of values) {
      pending += `${JSON.stringify(value)}\n`;
      lines += 1;
      if (pending.length > CHUNK) await flush();
    }
    await flush();
    await handle.sync();
    return { file, lines, bytes, sha256: hash.digest('hex') };
  } finally {
    await handle.close();
  }
}

/**
 * Reads a file of a backup.
 * @throws {UnusableCopy} at the end, if the file has changed
 */
export async function* readLines(folder: string, expected: Lines): AsyncGenerator<unknown> {
  const hash = createHash('sha256');
  let lines = 0;
  await checkFile(folder, expected);
  const chunks = createReadStream(join(folder, expected.file), { highWaterMark: CHUNK });
  try {
    for await (const { text, isWhole } of textLines(chunks, LONGEST)) {
      if (!isWhole) break;
      hash.update(text).update('\n');
      lines += 1;
      yield JSON.parse(text);
    }
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError || error instanceof TypeError)
      throw damaged(folder, expected, error.message, error);
    throw error;
  }
  if (lines !== expected.lines) throw damaged(folder, expected, `it holds ${lines} lines instead of ${expected.lines}`);
  if (hash.digest('hex') !== expected.sha256)
    throw damaged(folder, expected, 'its SHA-256 is not that of the manifest');
}

export const damaged = (folder: string, { file }: Pick<Lines, 'file'>, why: string, cause?: unknown): UnusableCopy =>
  new UnusableCopy(`${join(folder, file)} is damaged: ${why}`, cause);

/** @throws {UnusableCopy} if it is not a file of this size inside the folder, or leads elsewhere through a link */
async function checkFile(folder: string, expected: Lines): Promise<void> {
  const path = join(folder, expected.file);
  let found: Awaited<ReturnType<typeof stat>>;
  try {
    found = await stat(path);
  } catch (error) {
    throw damaged(folder, expected, error instanceof Error ? error.message : String(error), error);
  }
  if (!found.isFile() || (await realpath(path)) !== join(await realpath(folder), expected.file))
    throw damaged(folder, expected, 'it is a link, or no file');
  if (found.size !== expected.bytes)
    throw damaged(folder, expected, `it has ${found.size} bytes instead of ${expected.bytes}`);
}
