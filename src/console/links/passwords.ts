import { LINK_PATHS } from '../../auth/links.ts';
import type { PasswordReset } from '../../auth/password-reset.ts';
import type { AuthorizationServer } from '../../authorization-server/authorization-server.ts';
import { isRefusal } from '../../domain/decision.ts';
import { isSafeForSmtp, normalisedEmail } from '../../domain/email-address.ts';
import { tryAgainIn } from '../../html/formats.ts';
import { html, named } from '../../html/html.ts';
import { traceOf } from '../../http/trace.ts';
import { venueCommand } from '../../text/venue-command.ts';
import {
  ASK_AGAIN,
  emailField,
  type LinkRoutes,
  linkForm,
  newPasswordFields,
  sendCard,
  sendDone,
  sendEnded,
  TO_SIGN_IN,
} from './link-page.ts';

const { forgottenPassword: FORGOTTEN, newPassword: NEW } = LINK_PATHS;
const SENT = `${FORGOTTEN}/sent`;
const CHANGED = `${NEW}/done`;

/** Asking for a link to a new password, and setting one with it. */
export function passwordRoutes(
  { get, post }: LinkRoutes,
  { reset, attempts }: { readonly reset: PasswordReset; readonly attempts: AuthorizationServer['resetAttempts'] },
): void {
  get(FORGOTTEN, async (_form, _request, reply) => sendCard(reply, reset.sendsMail ? askPage() : NO_MAIL));

  // Status, text and work are the same for every address: it is looked up only afterwards.
  post(FORGOTTEN, async (form, request, reply) => {
    const email = normalisedEmail(form.text('email'));
    if (!reset.sendsMail) return sendCard(reply, NO_MAIL);
    if (!isSafeForSmtp(email)) return sendCard(reply, askPage(email, 'This is not an e-mail address.'));
    const waitMs = await attempts.begin(email, request.ip);
    if (waitMs > 0) {
      reply.header('retry-after', Math.ceil(waitMs / 1_000));
      return sendCard(reply, askPage(email, `Too many links were asked for. ${tryAgainIn(waitMs)}`), 429);
    }
    reset.request(email);
    return reply.redirect(SENT, 303);
  });

  get(SENT, async (_form, _request, reply) =>
    sendDone(
      reply,
      'Check your mail',
      'If a user has this address, a mail with a link is on its way. The link works once, within an hour.',
      TO_SIGN_IN,
    ),
  );

  get(NEW, async (query, _request, reply) => {
    const token = query.text('link');
    const link = await reset.check(token);
    return link === undefined ? sendEnded(reply, ASK_AGAIN) : sendCard(reply, newPage(token, link.user.email));
  });

  post(NEW, async (form, request, reply) => {
    const token = form.text('link');
    const link = await reset.check(token);
    if (link === undefined) return sendEnded(reply, ASK_AGAIN);
    const changed = await reset.reset(token, form.password(), { correlationId: request.id, ...traceOf(request) });
    if (isRefusal(changed))
      return changed.refused === 'ResourceNotFound'
        ? sendEnded(reply, ASK_AGAIN)
        : sendCard(reply, newPage(token, link.user.email, changed.details));
    request.sender = { credential: { kind: 'user', id: changed.id } };
    return reply.redirect(CHANGED, 303);
  });

  get(CHANGED, async (_form, _request, reply) =>
    sendDone(
      reply,
      'Your password is changed',
      'You are signed out of every browser. Connected apps stay connected.',
      TO_SIGN_IN,
    ),
  );
}

const askPage = (email = '', problem?: string) => ({
  title: 'Forgot your password?',
  lead: 'We send a link to your address, with which you set a new password.',
  problem,
  main: html`<form class="fields" method="post" action="${FORGOTTEN}">${emailField(email)}
<button class="button full" type="submit">Send the link</button></form>
<p class="small"><a href="/console">Back to sign-in</a></p>`,
});

const NO_MAIL = {
  title: 'Forgot your password?',
  lead: 'This service sends no mail. Its operator can print a link for you, with which you set a new password:',
  main: html`<pre tabindex="0">${venueCommand()} user reset-link --email you@example.com</pre>
<p class="small"><a href="/console">Back to sign-in</a></p>`,
};

const newPage = (token: string, email: string, problem?: string) => ({
  title: 'Set a new password',
  lead: html`For ${named(email)}. It signs you out of every browser.`,
  problem,
  main: linkForm(
    NEW,
    token,
    html`${newPasswordFields(email)}<button class="button full" type="submit">Set password</button>`,
  ),
});
