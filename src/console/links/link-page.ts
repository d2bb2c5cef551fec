import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SUSPENDED } from '../../auth/suspension.ts';
import { isRefusal, type Refusal } from '../../domain/decision.ts';
import { type Html, html, type Interpolated } from '../../html/html.ts';
import { page, sendPage, sendProblem } from '../../html/layout.ts';
import { traceOf } from '../../http/trace.ts';
import type { Link } from '../parts/answer.ts';
import { hiddenField, PASSWORD_HINT, passwordField } from '../parts/forms.ts';
import { Form } from '../parts/typed-form.ts';

/** Requests for each of these pages per network and minute, as for the sign-in page. */
const PER_MINUTE = { rateLimit: { max: 300, timeWindow: '1 minute' } };

export type LinkRoutes = ReturnType<typeof createLinkRoutes>;

type Handle = (form: Form, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/**
 * Registers pages that need no session. A GET changes nothing, because mail scanners open every link. A form needs no token against forgery
 * besides its link, which no other site knows.
 */
export function createLinkRoutes(scope: FastifyInstance, publicUrl: string) {
  async function checkOrigin({ headers }: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { origin } = headers;
    if (origin === undefined || origin === publicUrl) return;
    await sendProblem(reply, 403, 'Nothing was done', 'This form did not come from this site.');
  }
  return {
    get(path: string, handle: Handle): void {
      scope.get(path, { config: PER_MINUTE }, (request, reply) => handle(new Form(request.query), request, reply));
    },
    post(path: string, handle: Handle): void {
      scope.post(path, { config: PER_MINUTE, preParsing: checkOrigin }, (request, reply) =>
        handle(new Form(request.body), request, reply),
      );
    },
  };
}

export type CardPage = {
  readonly title: string;
  readonly lead: Interpolated;
  readonly problem?: string | undefined;
  readonly main?: Interpolated;
};

/** A page with one card. With a problem its status is 422, or another one that is given. */
export const sendCard = (
  reply: FastifyReply,
  { title, lead, problem, main }: CardPage,
  status = problem === undefined ? 200 : 422,
): FastifyReply =>
  sendPage(
    reply,
    status,
    page({
      title: problem === undefined ? title : `Error: ${title}`,
      flash: problem === undefined ? [] : [{ kind: 'problem', text: problem }],
      main: html`<div class="card"><div class="stack tight"><h1>${title}</h1>
<p>${lead}</p></div>
${main}</div>`,
    }),
  );

/** The page that a link opens, and its form. */
type LinkPage<T> = {
  readonly path: string;
  /** Where a link leads on that does not work. */
  readonly ended: typeof TO_CONSOLE;
  /** What a link is for; undefined if it does not work. */
  check(token: string): Promise<T | undefined>;
  page(token: string, checked: T, problem?: string): CardPage | Promise<CardPage>;
  /** Does what the link is for, and answers. */
  act(
    token: string,
    checked: T,
    form: Form,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply | Refusal>;
};

/** Registers the page that a link opens. A form that is refused shows it again, with the reason. */
export function linkPage<T>({ get, post }: LinkRoutes, { path, ended, check, page, act }: LinkPage<T>): void {
  get(path, async (query, _request, reply) => {
    const token = query.text('link');
    const checked = await check(token);
    return checked === undefined ? sendEnded(reply, ended) : sendCard(reply, await page(token, checked));
  });

  post(path, async (form, request, reply) => {
    const token = form.text('link');
    const checked = await check(token);
    if (checked === undefined) return sendEnded(reply, ended);
    const answer = await act(token, checked, form, request, reply);
    if (!isRefusal(answer)) return answer;
    if (answer.refused === 'ResourceNotFound') return sendEnded(reply, ended);
    const status = answer === SUSPENDED ? 403 : 422;
    return sendCard(reply, await page(token, checked, answer.details), status);
  });
}

/** The context of a command that a form of such a page issues. */
export const contextOf = (request: FastifyRequest) => ({ correlationId: request.id, ...traceOf(request) });

/** Registers a page that says what was done, and leads on. */
export const donePage = ({ get }: LinkRoutes, path: string, title: string, text: string, next?: Link): void =>
  get(path, async (_query, _request, reply) => sendDone(reply, title, text, next));

/** Says what was done, and leads on. */
export const sendDone = (reply: FastifyReply, title: string, text: string, next?: Link): FastifyReply =>
  sendCard(reply, {
    title,
    lead: text,
    main: next && html`<a class="button full" href="${next.href}">${next.label}</a>`,
  });

/** The same for every link that does not work: why would tell a stranger something. */
export const sendEnded = (reply: FastifyReply, next: typeof TO_CONSOLE): FastifyReply =>
  sendProblem(
    reply,
    404,
    'This link does not work',
    'It has been used, it is too old, or a part of it is missing.',
    next,
  );

export const TO_CONSOLE = { href: '/console', label: 'Go to the console' };

/** A form that carries a link, so that nothing but the link is needed. Its content follows as a template, as after `html`. */
export const linkForm =
  (action: string, token: string) =>
  (...content: Parameters<typeof html>): Html =>
    html`<form class="fields" method="post" action="${action}">${hiddenField('link', token)}${html(...content)}</form>`;

/** A new password, with the address that a password manager keeps it for. */
export const newPasswordFields = (email: string, label = 'New password'): Html => html`<div class="field">
<label for="email">E-mail</label>
<input id="email" type="email" autocomplete="username" value="${email}" readonly></div>
${passwordField({ name: 'password', label, hint: PASSWORD_HINT, autocomplete: 'new-password', isFocused: true })}`;
