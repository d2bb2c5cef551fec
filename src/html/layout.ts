import type { FastifyReply } from 'fastify';
import { assetUrl } from './assets.ts';
import { EMPTY, type Html, html, raw } from './html.ts';

/** What just happened, said at the top of the next page. */
export type Flash = { readonly kind: 'done' | 'problem' | 'notice'; readonly text: string };

export type Page = {
  /** What the page is; the browser's title adds the service's name. */
  readonly title: string;
  readonly main: Html;
  readonly flash?: readonly Flash[];
  /** The rail beside a console page (`frame.ts`). Without it the page stands alone: sign-in, consent, an error. */
  readonly rail?: Html;
  /** Where the page stands among the changes it is told of; pages without it do not keep themselves up to date. */
  readonly live?: string;
};

const ICONS = [
  'mark',
  'inbox',
  'calendar',
  'space',
  'list',
  'search',
  'star',
  'charge',
  'key',
  'webhook',
  'apps',
  'client',
  'pending',
  'approved',
  'cancelled',
  'completed',
  'warning',
  'info',
  'menu',
  'back',
  'next',
  'plus',
  'copy',
  'leave',
  'resend',
] as const;
export type IconName = (typeof ICONS)[number];

const icons = new Map<IconName, Html>();

/** A picture beside a word that says the same: hidden from those who listen. */
export function icon(name: IconName): Html {
  let drawn = icons.get(name);
  if (drawn === undefined) {
    drawn = html`<svg class="icon" aria-hidden="true"><use href="${assetUrl('icons.svg')}#${name}"></use></svg>`;
    icons.set(name, drawn);
  }
  return drawn;
}

const FLASH_ICON = { done: 'approved', problem: 'warning', notice: 'info' } as const;

const flashes = (list: readonly Flash[]): Html =>
  html`${list.map(
    ({ kind, text }) =>
      html`<div class="flash ${kind}" role="${kind === 'problem' ? 'alert' : 'status'}">${icon(FLASH_ICON[kind])}<p>${text}</p></div>`,
  )}`;

/** The name of the service, drawn: a doorway. */
export const mark = (): Html => html`<a class="mark" href="/">${icon('mark')}<span>Venue Booking</span></a>`;

/** A whole page. The same shell carries the console and the pages of the authorization server. */
export function page({ title, main, flash = [], rail, live }: Page): string {
  const content = html`<main id="main" tabindex="-1">${flashes(flash)}${main}</main>`;
  const body =
    rail === undefined
      ? html`<div class="alone"><header>${mark()}</header>${content}</div>`
      : html`<div class="framed">${rail}${content}</div>`;
  return html`${raw('<!doctype html>')}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Venue Booking</title>
<link rel="icon" href="${assetUrl('favicon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetUrl('console.css')}">
<script src="${assetUrl('console.js')}" defer></script>
</head>
<body${live === undefined ? EMPTY : html` data-live="${live}"`}>
<a class="skip" href="#main">Skip to the content</a>
${body}
${live !== undefined && raw('<div class="toast" role="status" hidden></div>')}
</body>
</html>
`.markup;
}

/** A page that says what is wrong and where to go on. */
export const problemPage = (title: string, text: string, next?: { readonly href: string; readonly label: string }) =>
  page({
    title,
    main: html`<div class="card stack"><h1>${title}</h1><p>${text}</p>
      ${next && html`<a class="button" href="${next.href}">${next.label}</a>`}</div>`,
  });

/**
 * Headers of every page. Nothing runs or loads that is not a file of ours. `formTargets`: origins beside our own that the
 * answer to a form may redirect to (consent goes on to the app); browsers count redirects after a form as its target.
 *
 * Not @fastify/helmet, which knows no Permissions-Policy. It also sets headers on replies of Fastify's only, and
 * oidc-provider writes its pages itself, with a policy of its own script that is added to this one.
 */
export function pageHeaders(formTargets: readonly string[] = []): Readonly<Record<string, string>> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      ["form-action 'self'", ...formTargets].join(' '),
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    // With no-referrer browsers would send "Origin: null" with every form, and the origin check would know nothing.
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  };
}

export const sendPage = (reply: FastifyReply, status: number, text: string, formTargets: readonly string[] = []) =>
  reply.code(status).headers(pageHeaders(formTargets)).send(text);
