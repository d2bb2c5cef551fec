import { SCOPE_DESCRIPTIONS } from '../auth/scopes.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { flag, type Html, html, raw } from '../html/html.ts';
import { page, problemPage } from '../html/layout.ts';

/** Every form goes to a path below the interaction's own, and carries a token that only its page knows. */
type FormPage = {
  readonly action: string;
  readonly formToken: string;
  readonly clientName: string;
  readonly problem?: string;
};

export type SignInPage = FormPage & { readonly email?: string };

/** Asks who it is. Never says whether the e-mail or the password was wrong. */
export const signInPage = ({ action, formToken, clientName, email = '', problem }: SignInPage): string =>
  page({
    title: 'Sign in',
    flash: problem === undefined ? [] : [{ kind: 'problem', text: problem }],
    main: html`<div class="card">
      <div class="stack tight"><h1>Sign in</h1><p class="muted">to continue to ${clientName}</p></div>
      <form class="fields" method="post" action="${action}/sign-in">
        <input type="hidden" name="form_token" value="${formToken}">
        <div class="field">
          <label for="email">E-mail</label>
          <input id="email" name="email" type="email" autocomplete="username" maxlength="254" value="${email}" required${flag('autofocus', email === '')}>
        </div>
        <div class="field">
          <label for="password">Password</label>
          <input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required${flag('autofocus', email !== '')}>
        </div>
        <button class="button full" type="submit">Sign in</button>
      </form>
      ${cancelForm(action, formToken, 'Cancel')}
    </div>`,
  });

export type ConsentPage = FormPage & {
  /** Who vouches for the app's name: the host of the document that is its client id, when it has one. */
  readonly publishedBy?: string;
  /** Where the answer goes: a host, or an app on the user's device. */
  readonly redirectsTo: string;
  readonly scopes: readonly string[];
  readonly user: string;
  /** Where somebody else can sign in. */
  readonly otherUser: string;
  readonly accounts: readonly { readonly account: Account; readonly name: string }[];
};

/** Asks whether the app may act for the user, and for which of the user's accounts. */
export const consentPage = (consent: ConsentPage): string =>
  page({
    title: `Allow ${consent.clientName}?`,
    flash: consent.problem === undefined ? [] : [{ kind: 'problem', text: consent.problem }],
    main: html`<div class="card">
      <div class="stack tight">
        <h1>Allow ${consent.clientName}?</h1>
        <p>It calls itself ${consent.clientName}${publishedBy(consent)} and is reached at <strong>${consent.redirectsTo}</strong>.
          Allow it only if you have just started this yourself.</p>
      </div>
      <form class="fields" method="post" action="${consent.action}/consent">
        <input type="hidden" name="form_token" value="${consent.formToken}">
        <div class="stack tight">
          <h2>What it will be able to do</h2>
          <ul class="bullets">${inWords(consent.scopes).map((words) => html`<li>${words}</li>`)}</ul>
        </div>
        ${accountChoice(consent.accounts)}
        <button class="button full" type="submit">Allow</button>
      </form>
      ${cancelForm(consent.action, consent.formToken, 'Do not allow')}
      <p class="small muted">You are signed in as ${consent.user}. <a href="${consent.otherUser}">Sign in as somebody else</a></p>
    </div>`,
  });

/** Two scopes may let an app do the same. */
const inWords = (scopes: readonly string[]) => [...new Set(scopes.map((scope) => SCOPE_DESCRIPTIONS[scope] ?? scope))];

const publishedBy = ({ publishedBy: host }: ConsentPage) =>
  host === undefined ? undefined : html`, is published by <strong>${host}</strong>,`;

function accountChoice(accounts: ConsentPage['accounts']): Html {
  const [only, ...others] = accounts;
  if (only !== undefined && others.length === 0)
    return html`<p>It acts for <strong>${only.name}</strong>.</p>
      <input type="hidden" name="account" value="${accountKey(only.account)}">`;
  return html`<fieldset class="field">
    <legend>For which account?</legend>
    <div class="choices">${accounts.map(
      ({ account, name }) =>
        html`<label class="choice"><input type="radio" name="account" value="${accountKey(account)}" required>
          <span class="what">${name}<span class="hint">${account.kind}</span></span></label>`,
    )}</div>
  </fieldset>`;
}

const cancelForm = (action: string, formToken: string, label: string): Html =>
  html`<form method="post" action="${action}/cancel">
    <input type="hidden" name="form_token" value="${formToken}">
    <button class="button quiet full" type="submit">${label}</button>
  </form>`;

/** @param form made by oidc-provider, with its own token; the buttons belong to it by its id */
export const signOutPage = (form: string): string =>
  page({
    title: 'Sign out',
    main: html`<div class="card">
      <div class="stack tight"><h1>Sign out?</h1><p class="muted">Apps that you have connected stay connected.</p></div>
      ${raw(form)}
      <button class="button full" type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button>
      <button class="button quiet full" type="submit" form="op.logoutForm">Stay signed in</button>
    </div>`,
  });

export const signedOutPage = (): string =>
  problemPage('You are signed out', 'Come back whenever you like.', { href: '/console', label: 'Sign in again' });

export const errorPage = (message: string): string =>
  problemPage(
    'That did not work',
    `${message.charAt(0).toUpperCase()}${message.slice(1)} Go back to the app and start again.`,
  );

/**
 * oidc-provider goes on by a form that sends itself: to the app with `response_mode=form_post`, to the end of a session. Its
 * page is bare without a script; this is the same form and script on a page like the others. It has to be taken out of that
 * page: oidc-provider has no hook for it. `registerResponseMode` does not replace a mode that there is, `form_post` among them,
 * and the end of a session takes the same page without asking `logoutSource` when nobody is signed in.
 * @returns undefined for any other page; else the page and where its form goes
 */
export function goOnPage(bare: string): { readonly page: string; readonly target: string } | undefined {
  const parts = /<script>(.*?)<\/script>.*<form method="post" action="([^"]*)">(.*?)<noscript>/s.exec(bare);
  if (parts === null) return undefined;
  const [, script = '', action = '', inputs = ''] = parts;
  const main = html`<div class="card">
    <div class="stack tight"><h1>One moment</h1><p class="muted">This goes on by itself, or with the button.</p></div>
    ${raw(`<form method="post" action="${action}">${inputs}<button class="button full" type="submit">Continue</button></form>`)}
    ${raw(`<script>${script}</script>`)}
  </div>`;
  return { page: page({ title: 'One moment', main }), target: action.replaceAll('&amp;', '&') };
}
