import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LINK_PATHS } from '../../auth/links.ts';
import { EMAIL } from '../../domain/limits.ts';
import { type Html, html, type Interpolated } from '../../html/html.ts';
import { page, problemPage, sendPage } from '../../html/layout.ts';
import type { Link } from '../parts/answer.ts';
import { field, hiddenField, PASSWORD_HINT, passwordField } from '../parts/forms.ts';
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
    await sendPage(reply, 403, problemPage('Nothing was done', 'This form did not come from this site.'));
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

type CardPage = {
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

/** A page that says what was done, and leads on. */
export const sendDone = (reply: FastifyReply, title: string, text: string, next?: Link): FastifyReply =>
  sendCard(reply, {
    title,
    lead: text,
    main: next && html`<a class="button full" href="${next.href}">${next.label}</a>`,
  });

export const TO_SIGN_IN: Link = { href: '/console', label: 'Sign in' };

/** The same for every link that does not work: why would tell a stranger something. */
export const sendEnded = (reply: FastifyReply, next: typeof TO_CONSOLE): FastifyReply =>
  sendPage(
    reply,
    404,
    problemPage('This link does not work', 'It has been used, it is too old, or a part of it is missing.', next),
  );

export const ASK_AGAIN = { href: LINK_PATHS.forgottenPassword, label: 'Ask for a new link' };
export const TO_CONSOLE = { href: '/console', label: 'Go to the console' };

/** A form that carries a link, so that nothing but the link is needed. */
export const linkForm = (action: string, token: string, content: Interpolated): Html =>
  html`<form class="fields" method="post" action="${action}">${hiddenField('link', token)}${content}</form>`;

/** A new password, with the address that a password manager keeps it for. */
export const newPasswordFields = (email: string, label = 'New password'): Html => html`<div class="field">
<label for="email">E-mail</label>
<input id="email" type="email" autocomplete="username" value="${email}" readonly></div>
${passwordField({ name: 'password', label, hint: PASSWORD_HINT, autocomplete: 'new-password', isFocused: true })}`;

export const emailField = (value: string): Html =>
  field({
    name: 'email',
    label: 'E-mail',
    type: 'email',
    value,
    required: true,
    attributes: { autocomplete: 'username', maxlength: EMAIL.max, autofocus: '' },
  });
