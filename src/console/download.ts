import type { FastifyReply, FastifyRequest } from 'fastify';
import { CHUNK, sendChunks } from '../http/send-chunks.ts';
import type { Download } from './parts/answer.ts';

/** Sends a CSV file while it is read. If reading it fails in the middle, the connection is broken off, so that the browser reports it. */
export function sendDownload(
  { method }: FastifyRequest,
  reply: FastifyReply,
  { name, text }: Download['download'],
): FastifyReply | Promise<FastifyReply> {
  const head = () =>
    reply.headers({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}.csv"`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
  if (method === 'HEAD') return head().send('');
  return sendChunks(reply, chunked(text), head);
}

async function* chunked(parts: AsyncGenerator<string>): AsyncGenerator<Buffer> {
  let text = '';
  for await (const part of parts) {
    text += part;
    if (text.length < CHUNK) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(text);
}
