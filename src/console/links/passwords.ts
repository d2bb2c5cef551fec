import { LINK_PATHS } from '../../auth/links.ts';
import type { PasswordReset } from '../../auth/password-reset.ts';
import type { AuthorizationServer } from '../../authorization-server/authorization-server.ts';
import { isRefusal } from '../../domain/decision.ts';
import { isSafeForSmtp, normalisedEmail } from '../../domain/email-address.ts';
import { EMAIL } from '../../domain/limits.ts';
import { tryAgainIn } from '../../html/formats.ts';
import { html, named } from '../../html/html.ts';
import { venueCommand } from '../../text/venue-command.ts';
import { field } from '../parts/forms.ts';
import { contextOf, donePage, type LinkRoutes, linkForm, linkPage, newPasswordFields, sendCard } from './link-page.ts';

const { forgottenPassword: FORGOTTEN, newPassword: NEW } = LINK_PATHS;
const SENT = `${FORGOTTEN}/sent`;
const CHANGED = `${NEW}/done`;
const TO_SIGN_IN = { href: '/console', label: 'Sign in' };

/** Asking for a link to a new password, and setting one with it. */
export function passwordRoutes(
  routes: LinkRoutes,
  reset: PasswordReset,
  attempts: AuthorizationServer['resetAttempts'],
): void {
  const { get, post } = routes;
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

  const sent = 'If a user has this address, a mail with a link is on its way. The link works once, within an hour.';
  donePage(routes, SENT, 'Check your mail', sent, TO_SIGN_IN);

  linkPage(routes, {
    path: NEW,
    ended: { href: FORGOTTEN, label: 'Ask for a new link' },
    check: reset.check,
    page: (token, { user }, problem) => newPage(token, user.email, problem),
    async act(token, _link, form, request, reply) {
      const changed = await reset.reset(token, form.password(), contextOf(request));
      if (isRefusal(changed)) return changed;
      request.sender = { credential: { kind: 'user', id: changed.id } };
      return reply.redirect(CHANGED, 303);
    },
  });

  const changed = 'You are signed out of every browser. Connected apps stay connected.';
  donePage(routes, CHANGED, 'Your password is changed', changed, TO_SIGN_IN);
}

const emailField = (value: string) =>
  field({
    name: 'email',
    label: 'E-mail',
    type: 'email',
    value,
    required: true,
    attributes: { autocomplete: 'username', maxlength: EMAIL.max, autofocus: '' },
  });

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
  main: linkForm(NEW, token)`${newPasswordFields(email)}
<button class="button full" type="submit">Set password</button>`,
});
