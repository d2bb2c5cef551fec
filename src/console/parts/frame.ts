import { type Account, accountKey } from '../../domain/account.ts';
import { type Html, html } from '../../html/html.ts';
import { type IconName, icon, mark } from '../../html/layout.ts';
import { named } from '../../html/names.ts';
import { csrfField } from './fields.ts';
import type { Section } from './visit.ts';

type Entry = { readonly section: Section; readonly href: string; readonly label: string; readonly icon: IconName };

const COMMUNITY: readonly Entry[] = [
  { section: 'inbox', href: '/console/inbox', label: 'Requests', icon: 'inbox' },
  { section: 'calendar', href: '/console/calendar', label: 'Calendar', icon: 'calendar' },
  { section: 'bookings', href: '/console/bookings', label: 'Bookings', icon: 'list' },
  { section: 'spaces', href: '/console/spaces', label: 'Spaces', icon: 'space' },
  { section: 'reviews', href: '/console/reviews', label: 'Reviews', icon: 'star' },
  { section: 'charges', href: '/console/charges', label: 'Earnings', icon: 'charge' },
  { section: 'history', href: '/console/history', label: 'History', icon: 'pending' },
];

const BRAND: readonly Entry[] = [
  { section: 'find', href: '/console/find', label: 'Find a space', icon: 'search' },
  { section: 'bookings', href: '/console/bookings', label: 'My bookings', icon: 'list' },
  { section: 'reviews', href: '/console/reviews', label: 'Reviews', icon: 'star' },
  { section: 'charges', href: '/console/charges', label: 'Charges', icon: 'charge' },
  { section: 'history', href: '/console/history', label: 'History', icon: 'pending' },
];

const CONNECTIONS: readonly Entry[] = [
  { section: 'keys', href: '/console/keys', label: 'API keys', icon: 'key' },
  { section: 'webhooks', href: '/console/webhooks', label: 'Webhooks', icon: 'webhook' },
  { section: 'apps', href: '/console/apps', label: 'Connected apps', icon: 'apps' },
  { section: 'clients', href: '/console/clients', label: 'Service clients', icon: 'client' },
];

/** An account's start page, with the label of a link to it. */
export const homeOf = ({ kind }: Account): { readonly href: string; readonly label: string } =>
  kind === 'Community'
    ? { href: '/console/inbox', label: 'Back to requests' }
    : { href: '/console/find', label: 'Find a space' };

export type Frame = {
  readonly account: Account;
  readonly accountName: string;
  readonly email: string;
  /** The user's other accounts. */
  readonly others: readonly { readonly account: Account; readonly name: string }[];
  /** How many requests are pending; undefined while that cannot be read. */
  readonly pending: number | undefined;
  readonly section: Section | undefined;
  readonly csrf: string;
};

/** The navigation rail of every console page: the account, the navigation, the user who is signed in. */
export function rail(frame: Frame): Html {
  const { account, accountName, email, others, csrf } = frame;
  return html`<header class="rail">
${mark()}
<button class="menu-button" type="button" popovertarget="menu">${icon('menu')}Menu</button>
<div class="rail-menu" id="menu" popover>
<button class="menu-close" type="button" popovertarget="menu" popovertargetaction="hide">${icon('close')}Close</button>
<div class="account"><span class="kind">${account.kind}</span><span class="name">${named(accountName)}</span>${
    others.length > 0 &&
    html`<details><summary>Switch account</summary><form class="switch" method="post" action="/console/account">${csrfField({ csrf })}${others.map(
      (other) =>
        html`<button class="rail-button" name="account" value="${accountKey(other.account)}">${named(other.name)}</button>`,
    )}</form></details>`
  }</div>
<nav aria-label="Console">${list(account.kind === 'Community' ? COMMUNITY : BRAND, frame)}</nav>
<nav aria-label="Connections"><p class="nav-title">Connections</p>${list(CONNECTIONS, frame)}</nav>
<div class="rail-foot"><span>${named(email)}</span><form method="post" action="/console/sign-out">${csrfField({ csrf })}<button class="rail-button">${icon('leave')} Sign out</button></form></div>
</div>
</header>`;
}

function pendingCount(pending: number | undefined): Html | false {
  if (pending === 0) return false;
  return html`<span class="count">${pending ?? '?'}<span class="visually-hidden"> pending</span></span>`;
}

const list = (entries: readonly Entry[], { section, pending }: Frame): Html =>
  html`<ul class="nav">${entries.map((entry) => {
    const count =
      entry.section === 'inbox' && html`<span id="waiting" data-live-region>${pendingCount(pending)}</span>`;
    const link = html`${icon(entry.icon)}<span>${entry.label}</span>${count}`;
    return entry.section === section
      ? html`<li><a href="${entry.href}" aria-current="page">${link}</a></li>`
      : html`<li><a href="${entry.href}">${link}</a></li>`;
  })}</ul>`;
