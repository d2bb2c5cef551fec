import type { FastifyReply, FastifyRequest } from 'fastify';
import { Form } from '../parts/visit.ts';
import type { Cookies } from './cookies.ts';

/**
 * A form that was not accepted because its session had ended, or was another one, is filled in again on its page. It travels in a
 * sealed cookie, for the user and the account it was made for alone (docs/decisions/console.md).
 */

const COOKIE = 'console_kept';
/** As long as signing in may take. */
const KEPT_SECONDS = 600;
/** Browsers keep at least 4,096 bytes of a cookie (RFC 6265, 6.1), a third of which goes to sealing it. */
const MOST_BYTES = 2_700;

/** The forms whose page, at the same address, fills them in. */
const FILLED_IN = /^\/console\/(?:find\/\d+|spaces\/(?:new|\d+))$/;

type Kept = { readonly path: string; readonly owner: string; readonly fields: Readonly<Record<string, unknown>> };

/** Whether a form will be filled in again by the page at its address. */
export const isFilledIn = (path: string): boolean => FILLED_IN.test(path);

/**
 * Keeps a form that came from one of our pages.
 * @param owner whom it was made for (`Sessions.ownerOf`)
 */
export function keepForm(cookies: Cookies, request: FastifyRequest, reply: FastifyReply, owner: string): void {
  const path = pathOf(request);
  if (!isFilledIn(path) || typeof request.body !== 'object' || request.body === null) return;
  const fields = Object.fromEntries(
    Object.entries(request.body).filter(([name]) => name !== 'csrf' && name !== 'once'),
  );
  const kept: Kept = { path, owner, fields };
  if (Buffer.byteLength(JSON.stringify(kept)) <= MOST_BYTES) cookies.setSealed(reply, COOKIE, kept, KEPT_SECONDS);
}

/** The form that a page is to fill in again, if it is the owner's. It is kept no longer, whoever asks. */
export function takeKeptForm(
  cookies: Cookies,
  request: FastifyRequest,
  reply: FastifyReply,
  owner: string,
): Form | undefined {
  const kept = cookies.getSealed(request, COOKIE);
  if (!isKept(kept) || kept.path !== pathOf(request)) return undefined;
  cookies.clear(reply, COOKIE);
  return kept.owner === owner ? new Form(kept.fields) : undefined;
}

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? '';

function isKept(value: unknown): value is Kept {
  if (typeof value !== 'object' || value === null) return false;
  const { path, owner, fields } = value as Partial<Record<keyof Kept, unknown>>;
  return typeof path === 'string' && typeof owner === 'string' && typeof fields === 'object';
}
