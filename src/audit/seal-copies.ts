import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { type Checkpoint, openCheckpoint } from './checkpoint.ts';
import { leafLine, readSealFile, UnreadableSealFile } from './seal-file.ts';
import type { SealRecord, SealRecords } from './seal-records.ts';
import type { Problem, VerifierKey } from './signed-note.ts';
import { TILE_WIDTH } from './tree-tiles.ts';

/** Publishes checkpoints. A missed copy is sent the next time. */
export type SealCopy = {
  /** The setting that enables it. */
  readonly setting: string;
  /** @throws if not everything could be kept */
  bringUpToDate(head: SealRecord, key: VerifierKey): Promise<void>;
};

/** A file of checkpoints, the record of earlier signatures. */
export type SealFile = SealCopy & {
  /** The newest checkpoint that the key has signed; undefined if there is none, or the file cannot be read. */
  newest(key: VerifierKey): Promise<Checkpoint | undefined>;
};

const ANSWERS_WITHIN_MS = 10_000;

/**
 * Sends every checkpoint to a URL as the body of a POST, in order, starting with the newest at the time. An interrupted one may arrive
 * twice.
 */
export function createSealWebhook(deps: { readonly url: string; readonly records: SealRecords }): SealCopy {
  const { url, records } = deps;
  // A digest, because a URL may hold a password. A new receiver gets its own key, and so starts with the newest checkpoint.
  const receiver = createHash('sha256').update(url).digest('base64url');

  async function send(note: string): Promise<void> {
    const body = { method: 'POST', headers: { 'content-type': 'text/plain; charset=utf-8' }, body: note } as const;
    // Loaded here, because most services do not send their seals.
    const { fetch } = await import('undici');
    const response = await fetch(url, {
      ...body,
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
    }).catch((error: unknown) => {
      // Leave out the cause's message, which may repeat the URL.
      throw new Error(`The receiver cannot be reached: ${reasonOf(error)}`);
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`The receiver answered ${response.status}`);
  }

  return {
    setting: 'SEAL_WEBHOOK',
    async bringUpToDate(head) {
      const sent = await records.sent.get(receiver);
      if (sent === undefined) {
        await send(head.note);
        await records.sent.insert(receiver, { size: head.size });
        return;
      }
      let lastSize = sent.document.size;
      for await (const { size, note } of records.after(sent.document.size)) {
        await send(note);
        const { isChanged } = await records.sent.update(receiver, (now) =>
          now?.size === lastSize ? { size } : undefined,
        );
        // Otherwise another process sends them.
        if (!isChanged) return;
        lastSize = size;
      }
    },
  };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  return code ?? error.name;
}

/**
 * Appends every checkpoint to a file, preceded, if configured, by the hashes of its new events. A new file begins with the newest
 * checkpoint, and the hashes of all events.
 */
export function createSealFile(deps: {
  readonly file: string;
  readonly leaves: boolean;
  readonly records: SealRecords;
}): SealFile {
  const { file, records } = deps;
  let cached: FileContent | undefined;

  /** Reads the file, unless it ends where this process left it. Another store may append to it too. */
  async function current(origin: string): Promise<FileContent> {
    const size = await stat(file).then(
      (stats) => stats.size,
      () => undefined,
    );
    if (cached === undefined || cached.end !== size) cached = await readContent(origin);
    return cached;
  }

  async function textFrom(start: number): Promise<string> {
    return Buffer.concat(await Array.fromAsync(createReadStream(file, { start }))).toString();
  }

  async function readContent(origin: string): Promise<FileContent> {
    let content: FileContent = { size: 0, leaves: 0, end: 0 };
    let leaves = 0;
    try {
      for await (const item of readSealFile(createReadStream(file))) {
        if ('leaf' in item) leaves += 1;
        else content = { note: item.note, size: Number(item.note.split('\n')[1]), leaves, end: item.end };
      }
    } catch (error) {
      if (isMissing(error)) return content;
      if (!(error instanceof UnreadableSealFile)) throw error;
      // An interrupted write left an unfinished checkpoint, which the next write replaces. Anything else belongs to another writer.
      if (!error.isCut || !isBegun(await textFrom(content.end), origin))
        throw new Error(`${file} holds something other than checkpoints: ${error.message}`);
    }
    return content;
  }

  async function* linesOf(from: number, to: number): AsyncGenerator<string> {
    for (let at = from; at < to; ) {
      const index = Math.floor(at / TILE_WIDTH);
      const hashes = await records.tile(0, index);
      const end = Math.min(to, (index + 1) * TILE_WIDTH);
      let lines = '';
      for (; at < end; at += 1) {
        const hash = hashes[at % TILE_WIDTH];
        if (hash === undefined) throw new Error(`The hash of event ${at} is not kept`);
        lines += leafLine(at, hash);
      }
      yield lines;
    }
  }

  async function append(content: FileContent, sealed: SealRecord): Promise<void> {
    const handle = await open(file, 'a');
    try {
      if ((await handle.stat()).size > content.end) await handle.truncate(content.end);
      let { end } = content;
      const write = async (text: string) => {
        const bytes = Buffer.from(text);
        await handle.appendFile(bytes);
        end += bytes.length;
      };
      if (content.end > 0) await write('\n');
      if (deps.leaves) for await (const lines of linesOf(content.leaves, sealed.size)) await write(lines);
      await write(sealed.note);
      await handle.sync();
      const { note, size } = sealed;
      cached = { note, size, leaves: deps.leaves ? size : content.leaves, end };
    } finally {
      await handle.close();
    }
  }

  return {
    setting: 'SEAL_FILE',
    async newest(key) {
      const content = await current(key.name).catch(() => undefined);
      const checkpoint = content && checkpointIn(content, key);
      return checkpoint === undefined || 'problem' in checkpoint ? undefined : checkpoint;
    },
    async bringUpToDate(head, key) {
      const content = await current(key.name);
      // Read again after a failure, which may have left a partial write.
      cached = undefined;
      const last = checkpointIn(content, key);
      if (last !== undefined && 'problem' in last)
        throw new Error(`${file} ends with a checkpoint that ${last.problem}. Name another file`);
      if (content.size === 0) await append(content, head);
      else {
        cached = content;
        for await (const sealed of records.after(content.size)) {
          const before = cached ?? content;
          cached = undefined;
          await append(before, sealed);
        }
      }
    },
  };
}

/** The content of a file. */
type FileContent = {
  /** The last checkpoint in it, not checked; absent in a new file. */
  readonly note?: string;
  /** The number of events in it. */
  readonly size: number;
  /** The number of event hashes before it. */
  readonly leaves: number;
  /** The byte after it. */
  readonly end: number;
};

const checkpointIn = ({ note }: FileContent, key: VerifierKey): Checkpoint | Problem | undefined =>
  note === undefined ? undefined : openCheckpoint(note, key);

/** Whether a text is the beginning of hashes and a checkpoint of this log, cut off anywhere. */
function isBegun(text: string, origin: string): boolean {
  const rest = text.replace(/^\n?(?:leaf \d+ [\w+/]{43}=\n)*/, '');
  return [`${origin}\n`, 'leaf '].some((first) => rest.startsWith(first) || first.startsWith(rest));
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';
