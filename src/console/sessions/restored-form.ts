import type { FastifyReply, FastifyRequest } from 'fastify';
import { Form } from '../parts/typed-form.ts';
import type { Cookies } from './cookies.ts';

/**
 * A form that was rejected because its session had ended is filled in again on its page after the next sign-in, and a request that a sign-up
 * began with on that of its space. It travels in a sealed cookie, for the user and the account it was made for (docs/decisions/console.md).
 */
export type RestoredForm = {
  readonly path: string;
  /** See `Sessions.ownerOf`. */
  readonly owner: string;
  readonly fields: Readonly<Record<string, unknown>>;
};

const COOKIE = 'console_form';
/** How long signing in may take, in seconds. */
const SECONDS = 600;
/** Browsers keep at least 4,096 bytes of a cookie (RFC 6265, 6.1), of which sealing takes a third. */
const MAX_BYTES = 2_700;

/** The pages that fill in their forms. */
const RESTORABLE: readonly RegExp[] = [
  /^\/console\/find\/\d+$/,
  /^\/console\/spaces\/(?:new|community|house|order|public|\d+(?:\/hours|\/description|\/duplicate)?)$/,
  /^\/console\/spaces\/(?:house|\d+)\/photos$/,
  /^\/console\/calendar\/closures\/(?:new|[\w-]+\/change)$/,
  /^\/console\/customers\/(?:new|\d+)$/,
  /^\/console\/bookings\/enter$/,
  /^\/console\/mail\/(?:contact|settings(?:\/space)?)$/,
];

/** The page that fills in again the form that is sent to an address: the same one, but for the order of photos and the terms of a customer. */
export function restoringPage(path: string): string | undefined {
  const page = path.replace(/(?<=\/photos)\/order$|(?<=\/customers\/\d{1,15})\/(?:terms|invite)$/, '');
  return RESTORABLE.some((form) => form.test(page)) ? page : undefined;
}

/** Saves a form that came from one of our pages. */
export function saveForm(cookies: Cookies, request: FastifyRequest, reply: FastifyReply, owner: string): void {
  const path = restoringPage(pathOf(request));
  if (path === undefined) return;
  const fields = Object.fromEntries(
    Object.entries(Object(request.body)).filter(
      ([name, value]) => name !== 'csrf' && name !== 'once' && !ArrayBuffer.isView(value),
    ),
  );
  keepForm(cookies, reply, { path, owner, fields });
}

/** Keeps a form for its page, if a cookie can hold it. */
export function keepForm(cookies: Pick<Cookies, 'setSealed'>, reply: FastifyReply, saved: RestoredForm): void {
  if (Buffer.byteLength(JSON.stringify(saved)) <= MAX_BYTES) cookies.setSealed(reply, COOKIE, saved, SECONDS);
}

/**
 * The saved form of this page, which is deleted. A form of another user is deleted, too.
 * @param owner the user and account that the page is for
 * @param owners the user with each of the user's accounts
 */
export function takeSavedForm(
  cookies: Cookies,
  request: FastifyRequest,
  reply: FastifyReply,
  owner: string,
  owners: readonly string[],
): Form | undefined {
  const saved = cookies.getSealed<RestoredForm>(request, COOKIE);
  if (saved === undefined) return undefined;
  const isForPage = saved.owner === owner && saved.path === pathOf(request);
  if (isForPage || !owners.includes(saved.owner)) cookies.clear(reply, COOKIE);
  return isForPage ? new Form(saved.fields) : undefined;
}

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? '';
