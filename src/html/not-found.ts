import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendProblem } from './layout.ts';

/** Whether a request comes from a browser, which accepts HTML. API clients accept JSON or anything. /api serves no pages. */
export function asksForPage({ url, headers: { accept = '' } }: FastifyRequest): boolean {
  const types = accept.split(',').map((each) => each.split(';', 1)[0]?.trim().toLowerCase());
  return !/^\/api(?:[/?]|$)/.test(url) && types.includes('text/html') && !types.includes('application/json');
}

/** The page for an unknown address. A form sent there comes from a page of another release. */
export const sendNotFoundPage = (reply: FastifyReply): FastifyReply =>
  reply.request.method === 'POST'
    ? send(reply, 404, 'Nothing was changed', 'There is nothing at the address that this form was sent to any more.')
    : send(
        reply,
        404,
        'Page not found',
        'There is nothing at this address. It may be misspelled, or the page may be gone.',
      );

/** The page for an address that cannot be read, such as one with a `%` that no two digits follow. */
export const sendMalformedPage = (reply: FastifyReply): FastifyReply =>
  send(reply, 400, 'Page not found', 'This address cannot be read. It may have been cut off or misspelled.');

const send = (reply: FastifyReply, status: number, title: string, text: string): FastifyReply =>
  sendProblem(reply.header('vary', 'accept'), status, title, text, { href: '/console', label: 'Go to the console' });
