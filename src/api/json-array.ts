import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** Characters per write: enough to keep the number of writes low, few enough to keep memory flat. */
const CHUNK = 32 * 1024;

/**
 * Streams a JSON array, with one chunk in memory however many items there are (docs/decisions/streamed-lists.md). A failure
 * before the first chunk still gets an error response; a later one aborts the connection.
 */
export async function sendJsonArray<T>(
  reply: FastifyReply,
  items: AsyncIterable<T>,
  stringify: (item: T) => string,
): Promise<FastifyReply> {
  const chunks = chunked(items, stringify);
  const first = await chunks.next();
  const second = first.done ? first : await chunks.next();
  reply.type('application/json; charset=utf-8');
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
