import type { FastifyReply } from 'fastify';
import type { Amenity } from '../domain/description.ts';
import { assetUrl, SCRIPTS, STYLES } from './assets.ts';
import { EMPTY, type Html, html, raw } from './html.ts';

/** A message shown once, at the top of the next page. */
export type Flash = { readonly kind: 'done' | 'problem' | 'notice'; readonly text: string };

export type Page = {
  /** Without the service's name, which is appended in the browser's title bar. */
  readonly title: string;
  readonly main: Html;
  readonly flash?: readonly Flash[];
  /** The navigation rail of a console page (`console/parts/frame.ts`). Sign-in, consent and error pages have none. */
  readonly rail?: Html;
  /** The page's mark in the live feed (`LiveFeed.mark`). Pages without one do not update themselves. */
  readonly live?: string;
  /** The role of the reader, on such pages. */
  readonly role?: string;
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
  'people',
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
  'close',
  'mail',
  'overview',
] as const;
export type IconName = (typeof ICONS)[number];

const icons = new Map<IconName, Html>();

/** A decorative icon beside a word with the same meaning, so it is hidden from screen readers. */
export const icon = (name: IconName): Html =>
  icons.getOrInsertComputed(
    name,
    () => html`<svg class="icon" aria-hidden="true"><use href="${assetUrl('icons.svg')}#${name}"></use></svg>`,
  );

/** The same for what a space has. */
export const amenityIcon = (amenity: Amenity): Html =>
  html`<svg class="icon" aria-hidden="true"><use href="${assetUrl('amenities.svg')}#${amenity}"></use></svg>`;

const FLASH_ICON = { done: 'approved', problem: 'warning', notice: 'info' } as const;

const flashes = (list: readonly Flash[]): Html =>
  html`${list.map(
    ({ kind, text }) =>
      html`<div class="flash ${kind}" role="${kind === 'problem' ? 'alert' : 'status'}">${icon(FLASH_ICON[kind])}<p>${text}</p></div>`,
  )}`;

/** The logo (a doorway) and the name of the service. */
export const mark = (): Html => html`<a class="mark" href="/">${icon('mark')}<span>Venue Booking</span></a>`;

/** The parts of every HTML page. */
type HtmlDocument = {
  /** Without the service's name, which is appended in the browser's title bar. */
  readonly title: string;
  readonly body: Html;
  /** Stylesheets and scripts beside those of every page. */
  readonly head: Html;
  /** Attributes of the body. */
  readonly attributes?: Html;
};

/** The document around a body, with the link that skips to its `main`. */
export function htmlDocument({ title, body, head, attributes = EMPTY }: HtmlDocument): string {
  return html`${raw('<!doctype html>')}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Venue Booking</title>
<link rel="icon" href="${assetUrl('favicon.svg')}" type="image/svg+xml">
${STYLES.map(
  (name) => html`<link rel="stylesheet" href="${assetUrl(name)}">
`,
)}${head}
</head>
<body${attributes}>
<a class="skip" href="#main">Skip to main content</a>
${body}
</body>
</html>
`.markup;
}

/** A complete page. The console and the authorization server share this shell. */
export function page({ title, main, flash = [], rail, live, role }: Page): string {
  const content = html`<main id="main" tabindex="-1">${flashes(flash)}${main}</main>`;
  const body =
    rail === undefined
      ? html`<div class="alone"><header>${mark()}</header>${content}</div>`
      : html`<div class="framed">${rail}${content}</div>`;
  return htmlDocument({
    title,
    body: html`${body}
${live !== undefined && raw('<div class="notices" role="status" aria-atomic="false"></div>')}`,
    head: html`${SCRIPTS.map(
      (name) => html`<script src="${assetUrl(name)}" type="module"></script>
`,
    )}`,
    ...(live !== undefined && { attributes: html` data-live="${live}"${role && html` data-role="${role}"`}` }),
  });
}

/** An error page with a link to continue. */
export const problemPage = (title: string, text: string, next?: { readonly href: string; readonly label: string }) =>
  page({
    title,
    main: html`<div class="card stack"><h1>${title}</h1><p>${text}</p>
      ${next && html`<a class="button" href="${next.href}">${next.label}</a>`}</div>`,
  });

/** Sends such a page. */
export const sendProblem = (
  reply: FastifyReply,
  status: number,
  ...content: Parameters<typeof problemPage>
): FastifyReply => sendPage(reply, status, problemPage(...content));

/**
 * Headers of every page. Only our own files may run or load. `formTargets`: origins other than ours that the response to a
 * form may redirect to (consent redirects to the app), because browsers apply `form-action` to redirects too.
 * `embedders`: the origins of websites that may show the page in a frame.
 *
 * Not @fastify/helmet, which does not support Permissions-Policy. It also covers only replies sent by Fastify, whereas
 * oidc-provider writes its pages itself and adds its own script's hash to this policy.
 */
export function pageHeaders(
  formTargets: readonly string[] = [],
  embedders: readonly string[] = [],
): Readonly<Record<string, string>> {
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
      `frame-ancestors ${embedders.join(' ') || "'none'"}`,
    ].join('; '),
    'x-frame-options': 'DENY',
    // With no-referrer, browsers would send "Origin: null" with every form, which would defeat the origin check.
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  };
}

export const sendPage = (reply: FastifyReply, status: number, text: string, formTargets: readonly string[] = []) =>
  reply.code(status).headers(pageHeaders(formTargets)).send(text);
