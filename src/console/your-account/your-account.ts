import type { User } from '../../auth/users.ts';
import { isRefusal } from '../../domain/decision.ts';
import { EMAIL } from '../../domain/limits.ts';
import { bareMoment, bareSecond, tryAgainIn, zoneName } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { type Answer, done, missing, notDone } from '../parts/answer.ts';
import { actionButton, controlsOf, field, PASSWORD_HINT, passwordField, postForm } from '../parts/forms.ts';
import type { PageDeps, Routes, UserSession } from '../parts/routes.ts';
import { actionColumn, column, dataTable, rowHeading } from '../parts/tables.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';

const PATH = '/console/account';

/** What users change of their own sign-in, which is the same for all their accounts: password, address, and the browsers they are signed in to. */
export function yourAccountPages(
  routes: Routes,
  { users, addressConfirmation, sessions, signInAttempts, endSessionsOf }: PageDeps,
): void {
  routes.get(PATH, 'Viewer', (visit) => accountPage(visit));

  routes.post(`${PATH}/password`, 'Viewer', async (visit) => {
    const { user, context, form } = visit;
    const wrong = await wrongPassword(visit, 'current');
    if (wrong !== undefined) return accountPage(visit, wrong);
    const changed = await users.changePassword(user.id, form.password(), context);
    if (isRefusal(changed)) return accountPage(visit, { password: changed.details });
    return {
      ...done(PATH, 'Password changed. You are signed out of every other browser.'),
      startsSession: true,
    };
  });

  routes.post(`${PATH}/address`, 'Viewer', async (visit) => {
    const { user, context, form } = visit;
    if (!addressConfirmation.sendsMail) return accountPage(visit);
    const wrong = await wrongPassword(visit, 'confirmWith');
    if (wrong !== undefined) return accountPage(visit, wrong);
    const refusal = await addressConfirmation.requestChange(user, form.text('email'), context);
    return refusal === undefined ? done(PATH, MAIL_SENT) : accountPage(visit, { email: refusal.details });
  });

  routes.post(`${PATH}/address/confirm`, 'Viewer', async ({ user }) => {
    const refusal = addressConfirmation.sendsMail ? await addressConfirmation.request(user) : undefined;
    return refusal === undefined ? done(PATH, MAIL_SENT) : notDone(PATH, refusal.details);
  });

  routes.post(`${PATH}/sessions/:id/end`, 'Viewer', async ({ user, params }) => {
    if (!(await sessions.endOf(user, params.id ?? ''))) return missing('session');
    // Otherwise that browser would sign itself in again.
    await endSessionsOf(user.id);
    return done(PATH, 'Signed out of that browser.');
  });

  routes.post(`${PATH}/sessions/end`, 'Viewer', async ({ user, session }) => {
    for (const { hash } of await sessions.listOf(user)) if (hash !== session) await sessions.endOf(user, hash);
    await endSessionsOf(user.id);
    return done(PATH, 'Signed out of every other browser.');
  });

  /** The problem of a field that asks for the password of the user. Counted like a sign-in. */
  async function wrongPassword(
    { user, form, clientAddress }: Visit,
    name: 'current' | 'confirmWith',
  ): Promise<Problems | undefined> {
    const waitMs = await signInAttempts.begin(user.email, clientAddress);
    if (waitMs > 0) return { [name]: `Too many wrong passwords. ${tryAgainIn(waitMs)}` };
    if ((await users.verifyPassword(user.email, form.password(name), clientAddress)) === undefined)
      return { [name]: 'This is not your password.' };
    await signInAttempts.succeeded(user.email, clientAddress);
    return undefined;
  }

  async function accountPage(visit: Visit, problems: Problems = {}): Promise<Answer> {
    const list = await sessions.listOf(visit.user);
    return {
      title: 'Your account',
      lead: html`Your sign-in as ${named(visit.user.email)}, for every account that you act for.`,
      problems,
      main: html`<div class="split"><div class="stack full">${sessionList(visit, list)}</div>
<div class="stack">${passwordForm(visit, problems)}
${addressForm(visit, problems, addressConfirmation.sendsMail)}</div></div>`,
    };
  }
}

const MAIL_SENT = 'A mail with a link is on its way.';

const passwordForm = (visit: Visit, problems: Problems): Html =>
  postForm(visit, `${PATH}/password`, 'card fields')`<h2>Change the password</h2>
${passwordField({ name: 'current', label: 'Current password', autocomplete: 'current-password', problems })}
${passwordField({
  name: 'password',
  label: 'New password',
  hint: PASSWORD_HINT,
  problems,
  autocomplete: 'new-password',
})}
<p class="muted small">It signs you out of every other browser. Connected apps stay connected.</p>
<div><button class="button">Change password</button></div>`;

function addressForm(visit: Visit, problems: Problems, sendsMail: boolean): Html {
  const { user, form } = visit;
  const state = html`<p>${named(user.email)} ${user.emailConfirmedAt === undefined ? 'is not confirmed.' : 'is confirmed.'}</p>`;
  if (!sendsMail)
    return html`<div class="card stack"><h2>Address</h2>${state}
<p class="muted small">This service sends no mail, so an address cannot be confirmed or changed here.</p></div>`;
  return html`<div class="card stack"><h2>Address</h2>${state}${pendingAddress(visit, user)}
${postForm(visit, `${PATH}/address`, 'fields')`${field({
  ...controlsOf(form, problems)('email', 'New address'),
  type: 'email',
  required: true,
  hint: 'It replaces the current one once you open the link that we send to it.',
  attributes: { maxlength: EMAIL.max, autocomplete: 'off' },
})}
${passwordField({ name: 'confirmWith', label: 'Your password', autocomplete: 'current-password', problems })}
<div><button class="button">Change address</button></div>`}</div>`;
}

/** What waits for a link to be opened, and a button to send it again. */
function pendingAddress(visit: Visit, { pendingEmail, emailConfirmedAt }: User): Html | undefined {
  if (pendingEmail === undefined && emailConfirmedAt !== undefined) return undefined;
  const label = pendingEmail === undefined ? 'Confirm address' : 'Send the link again';
  return html`${
    pendingEmail !== undefined &&
    html`<p>${named(pendingEmail)} replaces it once you open the link that we sent there.</p>`
  }${actionButton(visit, `${PATH}/address/confirm`, label, 'small quiet')}`;
}

const sessionList = (visit: Visit, list: readonly UserSession[]): Html =>
  html`<h2>Where you are signed in</h2>
${dataTable('Sessions', shownOf(visit, list), [
  rowHeading('Browser', '', ({ hash, browser }) =>
    hash === visit.session ? html`This browser<br><span class="muted small">${browser}</span>` : browser,
  ),
  column(`Signed in (${zoneName(visit.zone)})`, 'small', ({ startedAt }) => bareMoment(visit, startedAt)),
  column('Last used', 'small', ({ hash, lastUsedAt }) =>
    hash === visit.session ? 'now' : bareMoment(visit, lastUsedAt),
  ),
  actionColumn('End', (session) => session.hash !== visit.session && endButton(visit, session)),
])}
${list.length > MOST_SHOWN && html`<p class="muted small">The latest ${MOST_SHOWN} of ${list.length}</p>`}
<p class="muted small">A session ends after 12 hours without use, and after a week. Its use is noted once an hour.</p>
${list.length > 1 && actionButton(visit, `${PATH}/sessions/end`, 'Sign out of all other browsers', 'quiet')}`;

const MOST_SHOWN = 20;

/** This session, then the latest others. */
function shownOf({ session }: Visit, list: readonly UserSession[]): readonly UserSession[] {
  const [own, others] = [list.filter(({ hash }) => hash === session), list.filter(({ hash }) => hash !== session)];
  return [...own, ...others].slice(0, MOST_SHOWN);
}

const endButton = (visit: Visit, { hash, startedAt, browser }: UserSession): Html =>
  actionButton(
    visit,
    `${PATH}/sessions/${hash}/end`,
    html`Sign out<span class="visually-hidden"> of ${browser}, signed in ${bareSecond(visit, startedAt)}</span>`,
    'small quiet',
  );
