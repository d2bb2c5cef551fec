import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** Text handed to the socket at once: large enough that a long list costs few writes, small enough to keep memory flat. */
const CHUNK = 32 * 1024;

/**
 * Answers a JSON array that holds a chunk in memory, however many items there are. What fails before the first chunk still
 * gets a proper error answer; what fails later breaks the connection off.
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
