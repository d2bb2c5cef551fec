import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { canonicalForm, type PortableEvent } from '../audit/portable-event.ts';
import { OWNER_ONLY } from '../runtime/private-file.ts';
import { type Counts, type Header, isEvent } from './format.ts';
import { nothingWritten, type Written } from './lines.ts';
import { linesOf, readText } from './read-export.ts';
import { UnusableCopy } from './unusable-copy.ts';

/** A file that an export is written to. */
export type ExportFile = {
  readonly written: Written;
  /** The progress of an interrupted export; undefined for a new one. */
  readonly begun: { readonly counts: Counts; readonly last: PortableEvent | undefined } | undefined;
  write(chunk: Buffer): Promise<void>;
  /** Resolves once the file is on disk. */
  close(): Promise<void>;
};

/**
 * Opens a new file readable only by its owner, or the file of an interrupted export, of which the complete lines of events stay.
 * @throws {UnusableCopy} if the file holds anything else
 */
export async function openExportFile(file: string, header: Header): Promise<ExportFile> {
  const handle = await openPrivate(file);
  try {
    const { size } = await handle.stat();
    const begun = size === 0 ? undefined : await beginningIn(file, header);
    const { end, written } = begun ?? { end: 0, written: nothingWritten() };
    await handle.truncate(end);
    await handle.chmod(OWNER_ONLY);
    let at = end;
    return {
      written,
      begun: begun && { counts: begun.written.counts, last: begun.last },
      async write(chunk) {
        for (let from = 0; from < chunk.length; ) {
          const { bytesWritten } = await handle.write(chunk, from, chunk.length - from, at);
          from += bytesWritten;
          at += bytesWritten;
        }
      },
      async close() {
        await handle.sync().finally(() => handle.close());
      },
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function openPrivate(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'wx', OWNER_ONLY);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    // It is not created: it may be the mount of another disk, which is away.
    const isFolderMissing = error.code === 'ENOENT';
    const why = isFolderMissing ? `the folder ${dirname(file)} does not exist` : error.message;
    if (error.code !== 'EEXIST') throw new UnusableCopy(`${file} cannot be written: ${why}`, error);
  }
  try {
    return await open(file, 'r+');
  } catch (error) {
    throw new UnusableCopy(`${file} cannot be written: ${error instanceof Error ? error.message : error}`, error);
  }
}

/** The progress of an interrupted export. Undefined if not even the first line is complete. */
async function beginningIn(
  file: string,
  header: Header,
): Promise<{ readonly end: number; readonly written: Written; readonly last: PortableEvent | undefined } | undefined> {
  const wanted = canonicalForm({ export: header });
  const hash = createHash('sha256');
  let [end, events] = [0, 0];
  let last: PortableEvent | undefined;
  const another = () =>
    new UnusableCopy(`${file} holds something other than the beginning of this export; name another file`);
  const texts = readText(file);
  const { value: first } = await texts.next();
  await texts.return(undefined);
  if (first === undefined || !first.isWhole) {
    if (first === undefined || wanted.startsWith(first.text)) return undefined;
    throw another();
  }
  if (first.text !== wanted) throw another();
  let isOver = false;
  for await (const { line, text } of linesOf(file)) {
    if ('trailer' in line) throw new UnusableCopy(`${file} holds a complete export; name another file`);
    // Records are written again: they are read after the last event.
    isOver ||= !isEvent(line) && !('export' in line);
    if (isOver) continue;
    hash.update(text).update('\n');
    end += Buffer.byteLength(text) + 1;
    if (!isEvent(line)) continue;
    events += 1;
    last = line;
  }
  return { end, last, written: { hash, counts: { events, records: 0 } } };
}
