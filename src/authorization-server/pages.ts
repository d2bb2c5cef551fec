import { LINK_PATHS, SIGN_UP_PATH } from '../auth/links.ts';
import { whatScopesAllow } from '../auth/scopes.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import { EMAIL, MAX_TYPED_PASSWORD } from '../domain/limits.ts';
import { ROLE_NAMES, type Role } from '../domain/roles.ts';
import { escapeText, flag, type Html, html, named, raw } from '../html/html.ts';
import { page, problemPage } from '../html/layout.ts';
import { firstAccount } from '../text/venue-command.ts';
import { isRedirectScheme } from './redirect-uri.ts';

/** The verified and unverified details of an app that asks for access. */
export type App = {
  /** The name that the app gave; unverified. */
  readonly name?: string;
  /** The host that published its metadata document, if its client id is the URL of one. */
  readonly publishedBy?: string;
  /** What it says about itself elsewhere: https addresses, unverified. */
  readonly policy?: string;
  readonly terms?: string;
  /** Where the user is sent back to: a host, or a program on the user's device. */
  readonly sendsBackTo: { readonly onDevice: boolean; readonly address: string };
};

/** The fields of every interaction page. Forms post to a path below `action`, with a token that only the page has. */
type FormPage = {
  readonly action: string;
  readonly formToken: string;
  /** Undefined for the console. */
  readonly app: App | undefined;
  readonly problem?: string;
};

/** Sign-ins that anyone on this machine may use, and the file that they and others are in. */
export type OfferedSignIns = {
  readonly file: string;
  readonly accounts: readonly {
    readonly name: string;
    readonly email: string;
    readonly password: string;
  }[];
};

export type SignInPage = FormPage & {
  readonly email?: string;
  /** True while no user exists. */
  readonly isFirst: boolean;
  readonly offered: OfferedSignIns | undefined;
  readonly takesSignUps: boolean;
};

/** The sign-in page. Its errors never reveal whether the e-mail or the password was wrong. */
export const signInPage = ({
  action,
  formToken,
  app,
  email = '',
  problem,
  isFirst,
  offered,
  takesSignUps,
}: SignInPage): string =>
  page({
    title: 'Sign in',
    flash: problem === undefined ? [] : [{ kind: 'problem', text: problem }],
    main: html`<div class="card">
      <div class="stack tight"><h1>Sign in</h1>
      <p class="muted">${app === undefined ? 'to continue to the console' : 'An app asks for access. Sign in to decide.'}</p></div>
      ${app && facts(app)}${isFirst && howToBegin}
      <form class="fields" method="post" action="${action}/sign-in">
        <input type="hidden" name="form_token" value="${formToken}">
        <div class="field">
          <label for="email">E-mail</label>
          <input id="email" name="email" type="email" autocomplete="username" maxlength="${EMAIL.max}" value="${email}"
            required${flag('autofocus', email === '')}>
        </div>
        <div class="field">
          <label for="password">Password</label>
          <input id="password" name="password" type="password" autocomplete="current-password"
            maxlength="${MAX_TYPED_PASSWORD}" required${flag('autofocus', email !== '')}>
        </div>
        <button class="button full" type="submit">Sign in</button>
      </form>
      <p class="small"><a href="${LINK_PATHS.forgottenPassword}">Forgot your password?</a></p>
      ${takesSignUps && html`<p class="small">You look for a space? <a href="${SIGN_UP_PATH}">Sign up</a></p>`}
      ${offered && offeredSignIns(action, formToken, offered)}
      ${cancelForm(action, formToken, 'Cancel')}
      ${app && left(app)}
    </div>`,
  });

/** A form for each, which works without JavaScript. */
const offeredSignIns = (action: string, formToken: string, { file, accounts }: OfferedSignIns): Html =>
  html`<div class="stack tight full"><h2>Demo data</h2>
        <p>Try this service as a community or as a brand. All sign-ins and API keys are in <code>${file}</code>.</p>
        ${accounts.map(
          ({ name, email, password }) => html`<form method="post" action="${action}/sign-in">
          <input type="hidden" name="form_token" value="${formToken}">
          <input type="hidden" name="email" value="${email}">
          <input type="hidden" name="password" value="${password}">
          <button class="button quiet full" type="submit"><span>Continue as ${named(name)}</span></button>
        </form>`,
        )}</div>`;

/** Shows the operator how to create the first account. */
const howToBegin = html`<div class="stack tight"><h2>There is no account yet</h2>
        <p>The operator of this service creates the first one, in the folder of the service and with its settings:
        a community or a brand, and a user who acts for it.</p>
        <pre tabindex="0">${firstAccount().join('\n')}</pre>
        <p class="small muted">The number is the one that the first command prints. Then sign in here.</p></div>`;

export type ConsentPage = FormPage & {
  readonly app: App;
  readonly scopes: readonly string[];
  readonly user: string;
  /** The URL to sign in as another user. */
  readonly otherUser: string;
  readonly accounts: readonly { readonly account: Account; readonly role: Role; readonly name: string }[];
};

/** The consent page: whether the app may act for the user, and for which of the user's accounts. */
export const consentPage = (consent: ConsentPage): string =>
  page({
    title: 'Allow this app?',
    flash: consent.problem === undefined ? [] : [{ kind: 'problem', text: consent.problem }],
    main: html`<div class="card">
      <div class="stack tight">
        <h1>Allow this app?</h1>
        <p>It asks to act for you. Allow it only if you started this yourself.</p>
      </div>
      ${facts(consent.app)}
      <p class="small muted">${consent.app.name !== undefined && 'This name is not verified. '}Judge the app by the address.${
        consent.app.sendsBackTo.onDevice && ' Any program on this device could use it.'
      }</p>
      <form class="fields" method="post" action="${consent.action}/consent" data-leaves="yes">
        <input type="hidden" name="form_token" value="${consent.formToken}">
        <div class="stack tight">
          <h2>Permissions</h2>
          ${whatItCanDo(consent)}
        </div>
        ${accountChoice(consent.accounts)}
        <button class="button full" type="submit">Allow</button>
      </form>
      ${cancelForm(consent.action, consent.formToken, 'Deny')}
      ${left(consent.app)}
      <p class="small muted">You are signed in as ${named(consent.user)}. <a href="${consent.otherUser}">Sign in as someone else</a></p>
    </div>`,
  });

function whatItCanDo({ scopes, accounts }: ConsentPage): Html {
  const allowed = whatScopesAllow(scopes, accounts);
  // The app only asks for what a community cannot do, or what the user's role does not allow.
  if (allowed.length === 0) return html`<p>Nothing: what it asks for is for brands, or for other roles.</p>`;
  return html`<ul class="bullets">${allowed.map((what) => html`<li>${what}</li>`)}</ul>`;
}

/** The name that the app gives, set apart from the verified hosts. Hosts are ASCII, as `URL` writes them. */
const facts = ({ name, publishedBy, policy, terms, sendsBackTo: { onDevice, address } }: App): Html =>
  html`<dl class="claims">
        <dt>It calls itself</dt>
        ${name === undefined ? html`<dd>nothing: it gives no name</dd>` : html`<dd class="given">${named(name)}</dd>`}
        ${publishedBy !== undefined && html`<dt>It is published by</dt><dd>${host(publishedBy)}</dd>`}
        <dt>It sends you back to</dt><dd>${onDevice && 'a program on this device '}${host(address)}</dd>
        ${policy !== undefined && html`<dt>Its privacy policy</dt><dd>${elsewhere(policy)}</dd>`}
        ${terms !== undefined && html`<dt>Its terms</dt><dd>${elsewhere(terms)}</dd>`}
      </dl>`;

const elsewhere = (address: string): Html =>
  html`<a href="${address}" target="_blank" rel="noopener noreferrer nofollow">${host(new URL(address).host)}</a>`;

const host = (address: string): Html => html`<bdi dir="ltr" class="host">${address}</bdi>`;

function accountChoice(accounts: ConsentPage['accounts']): Html {
  const [only, ...others] = accounts;
  if (only !== undefined && others.length === 0)
    return html`<p>It will act for <strong>${named(only.name)}</strong>.</p>
      <input type="hidden" name="account" value="${accountKey(only.account)}">`;
  return html`<fieldset class="field">
    <legend>Which account may it act for?</legend>
    <div class="choices">${accounts.map(
      ({ account, role, name }) =>
        html`<label class="choice"><input type="radio" name="account" value="${accountKey(account)}" required>
          <span class="what">${named(name)}<span class="hint">${account.kind}${
            role !== 'Manager' && html`. You are a ${ROLE_NAMES[role]}.`
          }</span></span></label>`,
    )}</div>
  </fieldset>`;
}

/** What the page says after its answer to an app with a scheme of its own, because no other page replaces it (`forms.js`). */
const left = ({ sendsBackTo: { address } }: App): Html | undefined =>
  address.endsWith(':')
    ? html`<div role="status"><p data-left hidden>You can go back to the app. If it has not opened, start again from there.</p></div>`
    : undefined;

const cancelForm = (action: string, formToken: string, label: string): Html =>
  html`<form method="post" action="${action}/cancel" data-leaves="yes">
    <input type="hidden" name="form_token" value="${formToken}">
    <button class="button quiet full" type="submit">${label}</button>
  </form>`;

/**
 * @param form oidc-provider's form with its own token; the buttons refer to it by its id
 * @param app the app that either answer leads to, if any
 */
export const signOutPage = (form: string, app: App | undefined): string =>
  page({
    title: 'Sign out',
    main: html`<div class="card">
      <div class="stack tight"><h1>Sign out?</h1>
        <p class="muted">This ends the console in this browser, too. Connected apps stay connected.</p></div>
      ${app && html`${facts(app)}<p class="small muted">An app sent you here. You go on to this address either way.</p>`}
      ${raw(form)}
      <button class="button full" type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button>
      <button class="button quiet full" type="submit" form="op.logoutForm">Stay signed in</button>
    </div>`,
  });

export const signedOutPage = (): string =>
  problemPage('You are signed out', 'You can close this page or sign in again.', {
    href: '/console',
    label: 'Sign in again',
  });

export const staySignedInPage = (): string =>
  problemPage('You are still signed in', 'You can close this page or go on to the console.', {
    href: '/console',
    label: 'Go to the console',
  });

export const errorPage = (message: string): string =>
  problemPage(
    'This request cannot be completed',
    `${message.charAt(0).toUpperCase()}${message.slice(1)} Go back to the app and try again.`,
  );

/** @param begun whether the requested action may have been done */
export const unavailablePage = (message: string, begun: boolean): string =>
  problemPage(
    'Not available right now',
    `${message}. ${begun ? 'Go back to the app, and check whether it was done before you try again.' : 'Try again in a moment.'}`,
  );

/**
 * Gives oidc-provider's self-submitting forms the look of the other pages. It uses them to return to the app with
 * `response_mode=form_post` and when another user signs in. Form and script have to be extracted from its bare page, because it has
 * no hook for this: `registerResponseMode` does not replace an existing mode such as `form_post`, and ending the session of the
 * former user uses the same page without calling `logoutSource`.
 * @returns the page and the target of its form; undefined for any other page
 */
export function autoSubmitPage(bare: string): AutoSubmitPage | undefined {
  const [script, afterScript] = cut(bare, '<script>', '</script>');
  const [action, afterAction] = cut(afterScript, '<form method="post" action="', '">');
  const [inputs] = cut(afterAction, '', '<noscript>');
  if (script === undefined || action === undefined || inputs === undefined) return undefined;
  const form = raw(
    `<form method="post" action="${action}">${inputs}<button class="button full" type="submit">Continue</button></form>`,
  );
  const main = html`<div class="card">
    <div class="stack tight"><h1>One moment</h1><p class="muted">If nothing happens, select Continue.</p></div>
    ${form}
    ${raw(`<script>${script}</script>`)}
  </div>`;
  return { page: page({ title: 'One moment', main }), way: { form }, target: action.replaceAll('&amp;', '&') };
}

/** The part of a text between two others, and what follows; nothing if one of them is missing. */
function cut(text: string | undefined, before: string, after: string): readonly [part?: string, rest?: string] {
  const start = text?.indexOf(before) ?? -1;
  const end = text?.indexOf(after, start + before.length) ?? -1;
  if (text === undefined || start === -1 || end === -1) return [];
  return [text.slice(start + before.length, end), text.slice(end + after.length)];
}

type AutoSubmitPage = { readonly page: string; readonly way: Way; readonly target: string };

/** How the user gets to the app: by a link, or by a form. */
export type Way = { readonly href: string } | { readonly form: Html };

type LeavingPage = { readonly app: App; readonly way: Way };

/** Asks whether to continue to an app that no user has allowed yet, and whose request failed. */
export const leavingPage = (leaving: LeavingPage): string =>
  continuePage('Continue to the app?', 'An app sent you here and waits for the answer. It gets no access.', leaving);

/** Asks before returning to an app that requested sign-out when no user was signed in. */
export const signedOutOfAppPage = (leaving: LeavingPage): string =>
  continuePage('You are signed out', 'An app sent you here to sign out, and wants you back.', leaving);

const continuePage = (title: string, message: string, { app, way }: LeavingPage): string =>
  page({
    title,
    main: html`<div class="card">
      <div class="stack tight">
        <h1>${title}</h1>
        <p>${message}</p>
      </div>
      ${facts(app)}
      <p class="small muted">Continue only if you know this address. Otherwise close this page.</p>
      ${'form' in way ? way.form : linkTo(way.href)}
    </div>`,
  });

/** A link to an app. Templates would replace an address with the app's own scheme by `#`, so the scheme is checked here instead. */
function linkTo(address: string): Html {
  const href = isRedirectScheme(new URL(address).protocol) ? escapeText(address) : '#';
  return raw(`<a class="button full" href="${href}">Continue</a>`);
}

type Client = {
  readonly id: string;
  readonly name: string | undefined;
  readonly policyUri?: string | undefined;
  readonly tosUri?: string | undefined;
};

const secureAddress = (uri: string | undefined): string | undefined =>
  uri !== undefined && URL.parse(uri)?.protocol === 'https:' ? uri : undefined;

/** How the pages name a client that sends the user to an address. */
export const appOf = (client: Client, address: string): App => ({
  ...defined({
    name: client.name,
    publishedBy: URL.parse(client.id)?.host,
    policy: secureAddress(client.policyUri),
    terms: secureAddress(client.tosUri),
  }),
  sendsBackTo: whereTo(address),
});

/** The redirect target in terms that a user can judge. */
function whereTo(address: string): App['sendsBackTo'] {
  const url = new URL(address);
  if (url.protocol === 'https:') return { onDevice: false, address: url.host };
  // Plain http is for loopback addresses only (docs/decisions/oauth.md).
  return { onDevice: true, address: url.protocol === 'http:' ? url.host : url.protocol };
}
