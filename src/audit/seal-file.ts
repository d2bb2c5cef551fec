import { textLines } from '../text/text-lines.ts';
import { HASH_BYTES, type Hash } from './merkle-tree.ts';
import { fromBase64 } from './signed-note.ts';

/** Kept checkpoints, and the hashes of the events between them if configured. */
export type KeptItem =
  | { readonly leaf: Hash; readonly index: number }
  | {
      /** A signed note, not checked yet. */
      readonly note: string;
      /** The number of its first line. */
      readonly line: number;
      /** The byte after it. */
      readonly end: number;
    };

/** An invalid file. The message begins with the line number. */
export class UnreadableSealFile extends Error {
  /** Whether the file ends early, because its writer was killed. */
  readonly isCut: boolean;

  constructor(line: number, problem: string, isCut = false) {
    super(`Line ${line} ${problem}`);
    this.name = 'UnreadableSealFile';
    this.isCut = isCut;
  }
}

/** The line that holds the hash of an event. */
export const leafLine = (index: number, hash: Hash): string => `leaf ${index} ${hash.toString('base64')}\n`;

const LONGEST_LINE = 10_000;

/**
 * Reads kept checkpoints: signed notes one after another, with empty lines between them or not, and before each of them the lines of
 * the events that it is the first to seal.
 * @throws {UnreadableSealFile}
 */
export async function* readSealFile(chunks: AsyncIterable<Buffer>): AsyncGenerator<KeptItem> {
  /** The lines of the note that is being read. */
  let note: string[] = [];
  let noteLine = 0;
  let noteEnd = 0;
  let leaves = 0;
  let line = 0;
  let leafSinceNote = false;
  const isSigned = () => note.at(-1)?.startsWith('— ') === true;
  const asItem = () => ({ note: `${note.join('\n')}\n`, line: noteLine, end: noteEnd });

  for await (const { text, end, isWhole } of linesIn(chunks)) {
    line += 1;
    if (isSigned() && !text.startsWith('— ')) {
      yield asItem();
      note = [];
      leafSinceNote = false;
    }
    if (!isWhole) throw new UnreadableSealFile(line, 'is cut in the middle', true);
    if (note.length === 0) {
      if (text === '') continue;
      if (text.startsWith('leaf ')) {
        yield leafIn(text, leaves, line);
        leaves += 1;
        leafSinceNote = true;
        continue;
      }
      noteLine = line;
    } else if (note.at(-1) === '' && !text.startsWith('— ')) {
      throw new UnreadableSealFile(line, 'is not the signature of a checkpoint');
    }
    if (note.length === 0 && text.startsWith('— '))
      throw new UnreadableSealFile(line, 'is a signature without a checkpoint');
    note.push(text);
    noteEnd = end;
  }
  if (isSigned()) yield asItem();
  else if (note.length > 0 || leafSinceNote) throw new UnreadableSealFile(line, 'is not the end of a checkpoint', true);
}

function leafIn(text: string, expected: number, line: number): KeptItem {
  const [, index = '', base64 = ''] = /^leaf (0|[1-9]\d*) (\S+)$/.exec(text) ?? [];
  const leaf = fromBase64(base64);
  if (leaf?.length !== HASH_BYTES) throw new UnreadableSealFile(line, 'is not the hash of an event');
  if (index !== String(expected))
    throw new UnreadableSealFile(line, `is the hash of event ${index}, and should be that of event ${expected}`);
  return { leaf, index: expected };
}

async function* linesIn(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<{ readonly text: string; readonly end: number; readonly isWhole: boolean }> {
  let [line, end] = [0, 0];
  try {
    for await (const { text, isWhole } of textLines(chunks, LONGEST_LINE)) {
      line += 1;
      end += Buffer.byteLength(text) + 1;
      yield { text, end, isWhole };
    }
  } catch (error) {
    if (error instanceof RangeError) throw new UnreadableSealFile(line + 1, 'is too long for a checkpoint');
    if (error instanceof TypeError) throw new UnreadableSealFile(line + 1, 'or one soon after it is not text in UTF-8');
    throw error;
  }
}
