import { createReadStream } from 'node:fs';
import type { KeptLeaf } from './check-log.ts';
import { type Checkpoint, openCheckpoint } from './checkpoint.ts';
import { readSealFile, UnreadableSealFile } from './seal-file.ts';
import type { VerifierKey } from './signed-note.ts';

/** A file of checkpoints that an auditor kept, all of them signed with the key; with the hashes of the events, if those were kept. */
export type RetainedCheckpoints = Awaited<ReturnType<typeof readRetainedCheckpoints>>;

/** An unusable file. The message names it. */
export class UnusableCheckpoints extends Error {}

/**
 * Reads a file of checkpoints.
 * @throws {UnusableCheckpoints} if it cannot be read, holds anything else, or one of them is not of the log that the key belongs to
 */
export async function readRetainedCheckpoints(file: string, key: VerifierKey) {
  const checkpoints: (Checkpoint & { readonly note: string })[] = [];
  let leaves = 0;
  try {
    for await (const item of readSealFile(createReadStream(file))) {
      if ('leaf' in item) {
        leaves += 1;
        continue;
      }
      const opened = openCheckpoint(item.note, key);
      if ('problem' in opened)
        throw new UnusableCheckpoints(`${file}: the checkpoint in line ${item.line} ${opened.problem}`);
      checkpoints.push({ ...opened, note: item.note });
    }
  } catch (error) {
    if (error instanceof UnreadableSealFile) throw new UnusableCheckpoints(`${file}: ${lowerFirst(error.message)}`);
    if (error instanceof Error && 'code' in error)
      throw new UnusableCheckpoints(`${file} cannot be read: ${error.message}`);
    throw error;
  }
  if (checkpoints.length === 0) throw new UnusableCheckpoints(`${file} holds no checkpoint`);
  return { checkpoints, ...(leaves > 0 && { leaves: () => leavesIn(file) }) };
}

async function* leavesIn(file: string): AsyncGenerator<KeptLeaf> {
  for await (const item of readSealFile(createReadStream(file))) if ('leaf' in item) yield { hash: item.leaf };
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
