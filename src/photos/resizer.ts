import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { type Refusal, refuseField } from '../domain/decision.ts';
import { PHOTO_SIZES, type PhotoSize } from '../domain/photos.ts';
import { createFairQueue } from '../event-loop/fair-queue.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { MAX_RATIO, MIN_SIDE, type Resized, type UnusablePhoto } from './resized.ts';

/** Of the largest size. */
const MAX_SIDE = 1_600;

/** A photo in each size, as WebP. */
export type PhotoSizes = {
  /** Of the largest size. */
  readonly width: number;
  readonly height: number;
  readonly sizes: ReadonlyMap<PhotoSize, Buffer>;
};

const PROCESS = join(import.meta.dirname, 'resize-process.ts');
const ENDS_WITHIN_MS = 10_000;
/** Of the JavaScript alone. The process itself limits the whole of its memory. */
const HEAP_MB = 64;
/** All sizes together, in bytes: more than a photo of 1,600 × 1,600 pixels has. */
const MAX_ANSWER = 16 * 1024 * 1024;
/** Processes at once, and how long a photo waits for one. */
const QUEUE = { atOnce: 2, withinMs: 20_000 };

/**
 * Resizes photos, each in a process of its own without the environment of this one. Accounts take turns.
 * @param options.command for tests: what runs instead
 */
export function createResizer(
  options: Partial<typeof QUEUE> & { readonly command?: readonly string[]; readonly endsWithinMs?: number } = {},
) {
  const { command = [`--max-old-space-size=${HEAP_MB}`, PROCESS], endsWithinMs = ENDS_WITHIN_MS, ...turns } = options;
  const queue = createFairQueue({ ...QUEUE, ...turns });

  /** @throws {Unavailable} if too many photos wait, or the process cannot resize any */
  return async (bytes: Uint8Array, account: string): Promise<PhotoSizes | Refusal> => {
    const outcome = await queue.run(account, () => run(command, bytes, endsWithinMs));
    if (outcome.isLate) return refuseField('photo', 'takes too long to read');
    return read(outcome);
  };
}

type Outcome = { readonly isLate: boolean; readonly answer: Buffer; readonly problem: string };

function run(command: readonly string[], bytes: Uint8Array, endsWithinMs: number): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const child = spawn(process.execPath, command, {
    env: { MALLOC_ARENA_MAX: '2' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // The first listener: a process that cannot start for lack of files has no streams.
  child.once('error', (error) => reject(cannotResize(error.message)));
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, endsWithinMs);
  const chunks: Buffer[] = [];
  let length = 0;
  let problem = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > MAX_ANSWER) child.kill('SIGKILL');
    else chunks.push(chunk);
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    problem = `${problem}${chunk.toString()}`.slice(0, 2_000);
  });
  child.once('close', () => resolve({ isLate, answer: Buffer.concat(chunks), problem }));
  // One that ends early no longer reads.
  child.stdin?.on('error', () => {});
  child.stdin?.end(bytes);
  return promise.finally(() => clearTimeout(late));
}

/** What it answered is checked, because a photo may have taken the process over. */
function read({ answer, problem }: Outcome): PhotoSizes | Refusal {
  const end = answer.indexOf('\n');
  const line = headIn(answer.subarray(0, Math.max(0, end)).toString());
  if (line === undefined) throw cannotResize(problem);
  if ('unusable' in line) return refuseField('photo', UNUSABLE[line.unusable]);
  const sizes = new Map<PhotoSize, Buffer>();
  let at = end + 1;
  for (const [index, size] of PHOTO_SIZES.entries()) {
    const next = at + (line.lengths[index] ?? 0);
    sizes.set(size, answer.subarray(at, next));
    at = next;
  }
  if (at !== answer.length || sizes.values().some((one) => !isWebp(one))) throw cannotResize(problem);
  return { width: line.width, height: line.height, sizes };
}

const isWebp = (bytes: Buffer): boolean =>
  bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';

function headIn(text: string): Resized | { readonly unusable: UnusablePhoto } | undefined {
  const value = parsed(text);
  const unusable = value.unusable;
  if (isUnusable(unusable)) return { unusable };
  const { width, height, lengths } = value;
  if (!isSide(width) || !isSide(height) || !Array.isArray(lengths) || !lengths.every(Number.isSafeInteger))
    return undefined;
  return { width, height, lengths: lengths.map(Number) };
}

function parsed(text: string): { readonly [field: string]: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

const isSide = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= MAX_SIDE;

/** Phrased to follow the name of a field. */
const UNUSABLE: { readonly [U in UnusablePhoto]: string } = {
  TooManyPixels: 'must have at most 50 megapixels',
  WrongShape: `must be at least ${MIN_SIDE} pixels wide and high, and at most ${MAX_RATIO} times as long as wide`,
  Unreadable: 'cannot be read: the file is damaged or incomplete',
  TooMuchMemory: 'takes too much memory to read. Save it as JPEG, or with fewer pixels',
};

const isUnusable = (value: unknown): value is UnusablePhoto =>
  typeof value === 'string' && Object.hasOwn(UNUSABLE, value);

const cannotResize = (problem: string): Unavailable =>
  new Unavailable(`No process could resize a photo: ${problem}`, undefined, 'Photos cannot be taken at the moment');
