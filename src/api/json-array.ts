import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ListVersion } from '../queries/list-versions.ts';
import { digest, type EntityTag, isHeld, sendNotModified, tagged } from './entity-tags.ts';

/** Characters per write: enough to keep the number of writes low, few enough to keep memory flat. */
const CHUNK = 32 * 1024;

/**
 * Answers with a list, or with 304 if the client has it. Without a version, or while the list is behind it, the answer has no
 * entity tag: the client asks for the whole list again (docs/decisions/entity-tags.md).
 */
export async function sendList<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  list: {
    readonly version: ListVersion | undefined;
    readonly entityTagOf: EntityTag;
    /** Not read before the version is known to be shown. */
    readonly items: AsyncIterable<T>;
    readonly stringify: (item: T) => string;
  },
): Promise<FastifyReply> {
  const { version, items, stringify } = list;
  if (version === undefined) return sendJsonArray(reply, items, stringify, undefined);
  const entityTag = list.entityTagOf(request, digest(version.id));
  if (isHeld(request, entityTag)) return sendNotModified(reply, entityTag);
  return sendJsonArray(reply, items, stringify, (await version.isShown()) ? entityTag : undefined);
}

/**
 * Streams a JSON array, with one chunk in memory however many items there are (docs/decisions/streamed-lists.md). A failure
 * before the first chunk still gets an error response; a later one aborts the connection.
 */
async function sendJsonArray<T>(
  reply: FastifyReply,
  items: AsyncIterable<T>,
  stringify: (item: T) => string,
  entityTag: string | undefined,
): Promise<FastifyReply> {
  const chunks = chunked(items, stringify);
  const first = await chunks.next();
  const second = first.done ? first : await chunks.next();
  reply.type('application/json; charset=utf-8');
  if (entityTag !== undefined) tagged(reply, entityTag);
  if (second.done) return reply.send(first.value);
  return reply.send(
    Readable.from(
      (async function* () {
        yield first.value;
        yield second.value;
        yield* chunks;
      })(),
      { objectMode: false, highWaterMark: CHUNK },
    ),
  );
}

async function* chunked<T>(items: AsyncIterable<T>, stringify: (item: T) => string): AsyncGenerator<string, undefined> {
  let text = '[';
  let separator = '';
  for await (const item of items) {
    text += separator + stringify(item);
    separator = ',';
    if (text.length >= CHUNK) {
      yield text;
      text = '';
    }
  }
  yield `${text}]`;
  return undefined;
}
