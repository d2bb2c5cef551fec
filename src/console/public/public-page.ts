import type { FastifyReply } from 'fastify';
import { type Html, html, raw } from '../../html/html.ts';
import { htmlDocument, mark, pageHeaders } from '../../html/layout.ts';
import { hasProblems } from '../parts/forms.ts';
import type { Problems } from '../parts/typed-form.ts';

/** A page for everyone: no session, no script. */
export type PublicPage = {
  readonly title: string;
  readonly main: Html;
  /** What is wrong with the query of the address, which the page says. */
  readonly problems?: Problems;
  /** One sentence for search engines and previews. */
  readonly description: string;
  /** Its address, with the origin. */
  readonly address: string;
  /** A picture for previews, with the origin. */
  readonly image?: string | undefined;
  /** What it is about, in the words of schema.org. */
  readonly data?: object;
};

/** Browsers and caches may keep a page this long: what a house changes shows within a minute. */
const MAX_AGE_SECONDS = 60;

export function sendPublicPage(reply: FastifyReply, page: PublicPage): FastifyReply {
  const { title, status, headers } = statusOf(page);
  return reply
    .code(status)
    .headers({ ...pageHeaders(), 'cache-control': `public, max-age=${MAX_AGE_SECONDS}`, ...headers })
    .send(htmlDocument({ title, head: headOf(page), body: bodyOf(page) }));
}

/** The title, status and headers of a page, which depend on whether its query is wrong. */
export const statusOf = ({ title, problems = {} }: Pick<PublicPage, 'title' | 'problems'>) =>
  hasProblems(problems)
    ? { title: `Error: ${title}`, status: 422, headers: { 'cache-control': 'no-store', 'x-robots-tag': 'noindex' } }
    : { title, status: 200, headers: {} };

const bodyOf = ({ main }: PublicPage): Html => html`<div class="public"><header>${mark()}
<nav class="row" aria-label="Service"><a href="/rooms">Find a room</a><a href="/console">Sign in</a></nav></header>
<main id="main" tabindex="-1">${main}</main></div>`;

function headOf({ title, description, address, image, data }: PublicPage): Html {
  const properties = [
    ['og:type', 'website'],
    ['og:title', title],
    ['og:description', description],
    ['og:url', address],
    ['og:image', image],
  ] as const;
  return html`<meta name="description" content="${description}">
<link rel="canonical" href="${address}">
${properties.map(([name, value]) => value !== undefined && html`<meta property="${name}" content="${value}">\n`)}
<meta name="twitter:card" content="${image === undefined ? 'summary' : 'summary_large_image'}">
${data && raw(`<script type="application/ld+json">${inScript(data)}</script>`)}`;
}

/** JSON that cannot end the element that it is in. */
const inScript = (data: object): string => JSON.stringify(data).replaceAll('<', '\\u003c');
