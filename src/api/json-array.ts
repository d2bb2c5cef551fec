import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientHas } from '../runtime/entity-tag.ts';
import { sendNotModified, tagged } from './entity-tags.ts';

/** Bytes per write: enough to keep the number of writes low, few enough to keep memory flat. */
const CHUNK = 32 * 1024;

/** Answers with a list, or with 304 if the client has the one with this entity tag. */
export async function sendList<P>(
  request: FastifyRequest,
  reply: FastifyReply,
  list: {
    readonly entityTag?: string;
    readonly pages: AsyncIterable<P> | Iterable<P>;
    /** The JSON of each item of a page. */
    readonly textsOf: (page: P) => readonly string[];
  },
): Promise<FastifyReply> {
  const { entityTag } = list;
  if (entityTag !== undefined && clientHas(request, entityTag)) return sendNotModified(reply, entityTag);
  return sendJsonArray(reply, chunked(list.pages, list.textsOf), entityTag);
}

/**
 * Streams a JSON array, with a few chunks in memory however many items there are (docs/decisions/rest-api.md). A failure while the
 * first two chunks are made still gets an error response; a later one aborts the connection.
 */
async function sendJsonArray(
  reply: FastifyReply,
  chunks: AsyncGenerator<Buffer>,
  entityTag: string | undefined,
): Promise<FastifyReply> {
  const first = await chunks.next();
  const second = first.done ? first : await chunks.next();
  reply.type('application/json; charset=utf-8');
  if (entityTag !== undefined) tagged(reply, entityTag);
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

async function* chunked<P>(
  pages: AsyncIterable<P> | Iterable<P>,
  textsOf: (page: P) => readonly string[],
): AsyncGenerator<Buffer, undefined> {
  let text = '[';
  let separator = '';
  for await (const page of pages) {
    const texts = textsOf(page);
    if (texts.length === 0) continue;
    text += separator + texts.join(',');
    separator = ',';
    if (text.length < CHUNK) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(`${text}]`);
  return undefined;
}
