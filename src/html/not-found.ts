import type { FastifyReply, FastifyRequest } from 'fastify';
import { problemPage, sendPage } from './layout.ts';

/**
 * Whether somebody looks at the answer in a browser: it names HTML among what it accepts. Clients of an API name JSON, or take
 * anything. Below /api, nobody is served pages.
 */
export function asksForPage({ method, url, headers: { accept = '' } }: FastifyRequest): boolean {
  const types = accept.split(',').map((each) => each.split(';', 1)[0]?.trim().toLowerCase());
  const isRead = method === 'GET' || method === 'HEAD';
  return isRead && !/^\/api(?:[/?]|$)/.test(url) && types.includes('text/html') && !types.includes('application/json');
}

/** The page for an address at which there is nothing. */
export const sendNotFoundPage = (reply: FastifyReply): FastifyReply =>
  sendPage(
    reply.header('vary', 'accept'),
    404,
    problemPage('Page not found', 'There is nothing at this address. It may be misspelled, or the page may be gone.', {
      href: '/console',
      label: 'Go to the console',
    }),
  );
