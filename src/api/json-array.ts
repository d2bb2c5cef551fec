import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ListVersion } from '../queries/list-versions.ts';
import { takeTurn } from './caller-turns.ts';
import { clientHas, digest, type EntityTag, sendNotModified, tagged } from './entity-tags.ts';
import type { ResponseCache } from './response-cache.ts';

/** Bytes per write: enough to keep the number of writes low, few enough to keep memory flat. */
const CHUNK = 32 * 1024;

/**
 * Answers with a list, or with 304 if the client has it. Without a version, or while the list lags behind it, the answer has no
 * entity tag, so the client asks for the whole list again (docs/decisions/rest-api.md).
 */
export async function sendList<P>(
  request: FastifyRequest,
  reply: FastifyReply,
  list: {
    readonly version: ListVersion | undefined;
    readonly entityTagOf: EntityTag;
    /** Not read before the wait for the version has ended. */
    readonly pages: AsyncIterable<P> | Iterable<P>;
    /** The JSON of each item of a page. */
    readonly textsOf: (page: P) => readonly string[];
    /** The cache and the key of the list in it. Answers with the same key differ only by version. */
    readonly cache?: { readonly responses: ResponseCache; readonly key: string };
  },
): Promise<FastifyReply> {
  const { version, cache } = list;
  const chunks = chunked(list.pages, list.textsOf);
  const entityTag = version && list.entityTagOf(request, digest(version.id));
  if (entityTag !== undefined && clientHas(request, entityTag)) return sendNotModified(reply, entityTag);
  if (!(await takeTurn(request, reply))) return reply;
  if (version === undefined) return sendJsonArray(reply, chunks, undefined);
  const cached = cache?.responses.get(cache.key, version);
  if (cached !== undefined) return sendJsonArray(reply, from(cached), entityTag);
  if (!(await version.isShown())) return sendJsonArray(reply, chunks, undefined);
  return sendJsonArray(reply, cache?.responses.caching(cache.key, version, chunks) ?? chunks, entityTag);
}

async function* from(chunks: readonly Buffer[]): AsyncGenerator<Buffer, undefined> {
  yield* chunks;
  return undefined;
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
