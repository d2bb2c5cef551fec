import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { createTurns } from './turns.ts';

/** Bytes per write: enough to keep the number of writes low, few enough to keep memory flat. */
export const CHUNK = 32 * 1024;

/**
 * Streamed answers of each kind at once, of all accounts, each with its rows in memory and some with the state of a compression. Further ones
 * wait, and those that are not read are then closed sooner.
 */
const STREAMS_AT_ONCE = 64;
const turns = createTurns(STREAMS_AT_ONCE);
/** Anyone may ask for photos, which must not hold up lists. */
const KINDS = ['lists', 'photos'] as const;

export const areStreamsWaiting = (): boolean => KINDS.some((kind) => turns.areWaiting(kind));

/**
 * Streams an answer, with a few chunks in memory however many there are. The next one is made when the client has taken the ones before. A
 * failure while the first two are made still gets an error response; a later one aborts the connection. If the client goes away, `chunks`
 * is ended.
 * @param chunks at least one
 * @param head sets the headers, once there is no error response any more
 */
export async function sendChunks(
  reply: FastifyReply,
  chunks: AsyncGenerator<Buffer>,
  head: () => void,
  kind: (typeof KINDS)[number] = 'lists',
): Promise<FastifyReply> {
  if ((await turns.take(kind, reply.raw)) === undefined) {
    await chunks.return(undefined);
    return reply.hijack();
  }
  const first = await chunks.next();
  const second = first.done ? first : await chunks.next();
  head();
  if (second.done) return reply.send(first.value);
  const body = Readable.from(
    (async function* () {
      yield first.value;
      yield second.value;
      yield* chunks;
    })(),
    { objectMode: false, highWaterMark: CHUNK },
  );
  // Destroying the stream ends the generator above, but `chunks` only if the generator has reached it.
  body.once('close', () => void chunks.return(undefined));
  return reply.send(body);
}
