import { type Account, accountKey } from '../../domain/account.ts';
import { isAtLeast, type LeastRole, ROLE_NAMES } from '../../domain/roles.ts';
import { counted, momentIn, zoneName } from '../../html/formats.ts';
import { type Html, html, type Interpolated, named } from '../../html/html.ts';
import { type IconName, icon, mark } from '../../html/layout.ts';
import type { Link, PageContent } from './answer.ts';
import { postForm } from './forms.ts';
import { linkItem } from './links.ts';
import type { Problems } from './typed-form.ts';
import type { Visit } from './visit.ts';

/** The frame of every console page: the navigation rail, the heading, and the errors of its form. */

type Entry = {
  /** The first part of the addresses of its pages. */
  readonly name: string;
  /** Where it leads. Default: the name. */
  readonly start?: string;
  readonly label: string;
  readonly icon: IconName;
  /** The least role that sees the page. Default: Viewer. */
  readonly least?: LeastRole;
  /** Whether it is about amounts alone. */
  readonly isAboutAmounts?: true;
};

const BOOKINGS: Readonly<Record<Account['kind'], readonly Entry[]>> = {
  Community: [
    { name: 'overview', label: 'Overview', icon: 'overview' },
    { name: 'inbox', label: 'Requests', icon: 'inbox' },
    { name: 'calendar', label: 'Calendar', icon: 'calendar' },
    { name: 'bookings', label: 'Bookings', icon: 'list' },
    { name: 'customers', label: 'Customers', icon: 'people' },
    { name: 'spaces', label: 'Spaces', icon: 'space' },
    { name: 'reviews', label: 'Reviews', icon: 'star' },
    { name: 'charges', label: 'Earnings', icon: 'charge', isAboutAmounts: true },
    { name: 'history', label: 'Change history', icon: 'pending' },
  ],
  Brand: [
    { name: 'overview', label: 'Overview', icon: 'overview' },
    { name: 'find', label: 'Find a space', icon: 'search' },
    { name: 'bookings', label: 'My bookings', icon: 'list' },
    { name: 'reviews', label: 'Reviews', icon: 'star' },
    { name: 'charges', label: 'Charges', icon: 'charge', isAboutAmounts: true },
    { name: 'history', label: 'Change history', icon: 'pending' },
  ],
};

const CONNECTIONS: readonly Entry[] = [
  { name: 'keys', label: 'API keys', icon: 'key', least: 'Manager' },
  { name: 'feeds', label: 'Calendar feeds', icon: 'calendar' },
  { name: 'webhooks', label: 'Webhooks', icon: 'webhook', least: 'Manager' },
  { name: 'apps', label: 'Connected apps', icon: 'apps' },
  { name: 'clients', label: 'Service clients', icon: 'client', least: 'Manager' },
  { name: 'mail', start: 'mail/settings', label: 'Mail', icon: 'mail' },
  { name: 'people', label: 'People', icon: 'people', least: 'Manager' },
];

/** The start page of every account, with the label of a link to it. */
export const START_PAGE = { href: '/console/overview', label: 'Overview' } as const;

/** The menu label of the page with this address. */
export const labelOf = ({ kind }: Pick<Account, 'kind'>, path: string): string | undefined =>
  path.startsWith('/console/webhooks/deliveries')
    ? 'Deliveries'
    : [...BOOKINGS[kind], ...CONNECTIONS].find(({ name }) => name === sectionOf(path))?.label;

const sectionOf = (path: string): string | undefined => path.split(/[/?]/)[2];

export type NamedAccount = { readonly account: Account; readonly name: string };

/** What the rail shows besides the visit. */
export type Frame = {
  /** The user's other accounts. */
  readonly others: readonly NamedAccount[];
  /** How many requests are pending, at most one more than {@link MOST_PENDING}; undefined while that cannot be read. */
  readonly pending: number | undefined;
  /** How many bookings and questions have an unread message; undefined while that cannot be read. */
  readonly unread: number | undefined;
  /** The address of the page, whose entry in the menu is marked. */
  readonly path: string;
};

/** The navigation rail of every console page: the account, the navigation, the user who is signed in. */
export function rail(visit: Visit, frame: Frame): Html {
  const { account, accountName, role, user } = visit;
  const { others } = frame;
  const kind = role === 'Manager' ? account.kind : `${account.kind} · ${ROLE_NAMES[role]}`;
  const switchForm = postForm(visit, '/console/account', 'switch')`${others.map(
    (other) =>
      html`<button class="rail-button" name="account" value="${accountKey(other.account)}">${named(other.name)}</button>`,
  )}`;
  return html`<header class="rail">
${mark()}<button class="menu-button" popovertarget="menu">${icon('menu')}Menu</button>
<div class="rail-menu" id="menu" popover>
<button class="menu-close" type="button" popovertarget="menu" popovertargetaction="hide">${icon('close')}Close</button>
<div class="account"><span class="kind">${kind}</span><span class="name">${named(accountName)}</span>${
    others.length > 0 && html`<details><summary>Switch account</summary>${switchForm}</details>`
  }</div>
<nav aria-label="Console">${menu(BOOKINGS[account.kind], visit, frame)}</nav>
<nav aria-label="Connections"><p class="nav-title">Connections</p>${menu(CONNECTIONS, visit, frame)}</nav>
<div class="rail-foot"><a href="/console/account"${
    sectionOf(frame.path) === 'account' && html` aria-current="page"`
  }>${named(user.email)}<span class="visually-hidden">, your account</span></a>
${postForm(visit, '/console/sign-out')`<button class="rail-button">${icon('leave')} Sign out</button>`}</div>
</div>
</header>`;
}

const menu = (entries: readonly Entry[], { role, amount }: Visit, { path, pending, unread }: Frame): Html => {
  const visible = entries.filter(
    ({ least = 'Viewer', isAboutAmounts }) => isAtLeast(role, least) && !(isAboutAmounts && amount === undefined),
  );
  return html`<ul class="nav">${visible.map(({ name, start = name, label, icon: picture }) => {
    const count =
      (name === 'inbox' && html`<span id="waiting" data-live-region>${countView(pending, 'pending')}</span>`) ||
      (name === 'bookings' && html`<span id="unread" data-live-region>${countView(unread, 'unread')}</span>`);
    const isCurrent = sectionOf(path) === name;
    return linkItem(
      `/console/${start}${name === 'calendar' ? '#today' : ''}`,
      html`${icon(picture)}<span>${label}</span>${count}`,
      isCurrent && 'page',
    );
  })}</ul>`;
};

/** Every page shows how many requests are pending. Counting all of them on every page would take long where thousands are. */
export const MOST_PENDING = 999;
export const pendingText = (pending: number | undefined): string =>
  pending !== undefined && pending > MOST_PENDING ? `${MOST_PENDING}+` : String(pending ?? '?');

const countView = (count: number | undefined, of: string): Html | false =>
  count !== 0 && html`<span class="count">${pendingText(count)}<span class="visually-hidden"> ${of}</span></span>`;

/** The link to the page that a page belongs to. */
const backLink = ({ href, label }: Link): Html =>
  html`<p class="back"><a href="${href}">${icon('back')} ${label}</a></p>`;

/** The content below the messages of a page. */
export const contentOf = ({ title, heading = title, lead, back, actions, problems = {}, main }: PageContent): Html =>
  html`${back && backLink(back)}<div class="head" id="head" data-live-region><div><h1>${heading}</h1>
${lead && html`<p class="lead">${lead}</p>`}</div>${actions}</div>
${problemSummary(problems)}${main}`;

/**
 * The errors of a form: the problem of the form as a whole, and a link to each field with a problem. It gets the focus, so that screen
 * readers announce it first and Tab leads to the links.
 */
export function problemSummary(problems: Problems): Html | undefined {
  const { '': whole, ...fields } = problems;
  const wrong = Object.entries(fields);
  if (whole === undefined && wrong.length === 0) return undefined;
  return html`<div class="flash problem" role="alert" tabindex="-1" autofocus>${icon('warning')}<div class="stack tight">
<p>${whole ?? `Fix ${counted(wrong.length, 'field')}.`}</p>${
    wrong.length > 0 &&
    html`<ul class="bullets">${wrong.map(([name, problem]) => html`<li><a href="#${name}">${problem}</a></li>`)}</ul>`
  }</div></div>`;
}

/** Shown in place of an empty list or page: what to do next, and the reason, which follows as a template, as after `html`. */
export const emptyState =
  (picture: IconName, heading: Interpolated, next?: Interpolated) =>
  (...text: Parameters<typeof html>): Html =>
    html`<div class="empty">${icon(picture)}<h2>${heading}</h2><p>${html(...text)}</p>${next}</div>`;

export const buttonLink = (href: string, label: Interpolated, classes = ''): Html =>
  html`<a class="button ${classes}" href="${href}">${label}</a>`;

/** The account and the time, on paper only: on screen the menu and the clock of the device show them. */
export const printedHead = (accountName: string, now: number, zone: string): Html =>
  html`<p class="printed"><span>${named(accountName)}</span><span>${momentIn(zone, now)} ${zoneName(zone)}</span></p>`;
