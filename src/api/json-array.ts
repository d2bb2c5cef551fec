import type { FastifyReply, FastifyRequest } from 'fastify';
import { seesAmounts } from '../domain/roles.ts';
import { withoutAmounts } from '../domain/shown-amounts.ts';
import { clientHas } from '../http/entity-tag.ts';
import { CHUNK, sendChunks } from '../http/send-chunks.ts';
import { sendNotModified, tagged } from './entity-tags.ts';

/** Answers with a list as a JSON array, streamed, or with 304 if the client has the one with this entity tag (docs/decisions/rest-api.md). */
export async function sendList<P>(
  request: FastifyRequest,
  reply: FastifyReply,
  list: {
    readonly entityTag?: string;
    readonly pages: AsyncIterable<P> | Iterable<P>;
    /** The JSON of each item of a page. */
    readonly textsOf: (page: P) => readonly string[] | Promise<readonly string[]>;
  },
): Promise<FastifyReply> {
  const { entityTag } = list;
  if (entityTag !== undefined && clientHas(request, entityTag)) return sendNotModified(reply, entityTag);
  const textsOf: typeof list.textsOf = seesAmounts(request.caller.role)
    ? list.textsOf
    : async (page) => (await list.textsOf(page)).map((text) => JSON.stringify(withoutAmounts(JSON.parse(text))));
  return sendChunks(reply, chunked(list.pages, textsOf), () => {
    reply.type('application/json; charset=utf-8');
    if (entityTag !== undefined) tagged(reply, entityTag);
  });
}

async function* chunked<P>(
  pages: AsyncIterable<P> | Iterable<P>,
  textsOf: (page: P) => readonly string[] | Promise<readonly string[]>,
): AsyncGenerator<Buffer, undefined> {
  let text = '[';
  let separator = '';
  for await (const page of pages) {
    const texts = await textsOf(page);
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
