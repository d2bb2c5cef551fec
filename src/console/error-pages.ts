import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { SUSPENDED } from '../auth/suspension.ts';
import { ROLE_NAMES } from '../domain/roles.ts';
import { UNUSABLE_TEXT } from '../domain/unicode.ts';
import { capitalised } from '../html/formats.ts';
import { html, named } from '../html/html.ts';
import { sendProblem } from '../html/layout.ts';
import {
  isUnavailable,
  OutcomeUnknown,
  publicMessageOf,
  RETRY_AFTER_SECONDS,
  type UnavailableError,
} from '../runtime/unavailable.ts';
import { TO_CONSOLE } from './links/link-page.ts';
import type { Forbidden, PageContent } from './parts/answer.ts';
import { buttonLink, START_PAGE } from './parts/frame.ts';
import type { Visit } from './parts/visit.ts';

export function notFound(what: string): PageContent {
  return {
    title: 'Not found',
    heading: `${capitalised(what)} not found`,
    status: 404,
    main: html`<p>It does not exist, or it belongs to another account.</p><p>${buttonLink(START_PAGE.href, START_PAGE.label)}</p>`,
  };
}

/**
 * For a page or form that the user's role does not allow.
 * @param least the least role that may do it; or only roles that see amounts
 */
export function forbiddenPage(
  { accountName, role }: Visit,
  least: Forbidden['forbidden'],
  isForm: boolean,
): PageContent {
  const who = MAY[least];
  return {
    title: 'Not allowed',
    heading: isForm ? 'Nothing was done' : 'Your role does not allow this',
    status: 403,
    main: html`<p>You are a ${ROLE_NAMES[role]} of ${named(accountName)}. Only ${who} may
${isForm ? 'do this' : 'open this page'}. A Manager can change your role.</p><p>${buttonLink(START_PAGE.href, START_PAGE.label)}</p>`,
  };
}

const MAY: Readonly<Record<Forbidden['forbidden'], string>> = {
  Viewer: 'a member',
  Coordinator: 'a Manager or a Coordinator',
  Manager: 'a Manager',
  amounts: 'a member who sees amounts',
};

/** For every page and form of a suspended account. Its users can still switch to another account and sign out. */
export const suspendedPage = ({ accountName }: Visit): PageContent => ({
  title: 'Suspended',
  heading: html`${named(accountName)} is suspended`,
  status: 403,
  main: html`<p>${SUSPENDED.details}</p>`,
});

/** For a form submitted again long after it took effect (docs/decisions/console.md). */
export const ALREADY_SUBMITTED: PageContent = {
  title: 'Already submitted',
  heading: 'This form was already submitted',
  status: 409,
  main: html`<p>It took effect the first time, and nothing was done this time. Secrets are shown only once: if you missed
one, create a new one.</p>
<p>${buttonLink(TO_CONSOLE.href, TO_CONSOLE.label)}</p>`,
};

/** For a form submitted again after a failure that may have come after its effect. */
export const OUTCOME_UNKNOWN: PageContent = {
  title: 'Not known whether it was done',
  heading: 'It is not known whether this was done',
  status: 409,
  main: html`<p>This form was submitted before, and the service could not tell whether it took effect. Nothing was done
this time. Check whether it was done before you open the form again.</p>
<p>${buttonLink(TO_CONSOLE.href, TO_CONSOLE.label)}</p>`,
};

const MAX_SIZES = 'A file may have at most 1 MB, a photo 8 MB, and all photos that are sent at once 16 MB.';

const UNAVAILABLE = 'Not available right now';

function unavailableText(error: UnavailableError, request: FastifyRequest, reply: FastifyReply): string {
  request.log.warn({ err: error, reqId: request.id }, 'unavailable');
  reply.header('retry-after', RETRY_AFTER_SECONDS);
  const message = publicMessageOf(error, 'A part of the service that this page needs does not answer');
  const advice =
    error instanceof OutcomeUnknown
      ? 'Check whether it was before you try again'
      : 'Nothing is lost. Try again in a moment';
  return `${message}. ${advice}. If this keeps happening, give the operator this request ID: ${request.id}.`;
}

/** The page keeps its menu, because other pages may be available. */
export const unavailablePage = (
  error: UnavailableError,
  request: FastifyRequest,
  reply: FastifyReply,
): PageContent => ({
  title: UNAVAILABLE,
  status: 503,
  main: html`<p>${unavailableText(error, request, reply)}</p>`,
});

/** Answers a request that failed. The page of an unexpected error reveals no internals. */
export function showError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { statusCode = 500 } = error;
  const send = (status: number, title: string, text: string) => sendProblem(reply, status, title, text, TO_CONSOLE);
  if (statusCode === 429) return send(429, 'Too many requests', 'Try again in a minute.');
  if (statusCode === 413)
    return send(413, 'Too large', `Nothing was done: what your browser sent is too large. ${MAX_SIZES}`);
  if (error.code === UNUSABLE_TEXT) return send(statusCode, 'Bad request', error.message);
  if (statusCode >= 400 && statusCode < 500)
    return send(statusCode, 'Bad request', 'Your browser sent a request that the console does not understand.');
  if (isUnavailable(error)) return send(503, UNAVAILABLE, unavailableText(error, request, reply));
  request.log.error({ err: error, reqId: request.id }, 'unexpected error');
  const text = `An unexpected error occurred (request ${request.id}). Try again. If it keeps happening, give the operator this request ID.`;
  return send(500, 'Something went wrong', text);
}
