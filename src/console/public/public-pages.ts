import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { networkOf } from '../../auth/networks.ts';
import { assetUrl, embedScript } from '../../html/assets.ts';
import { html, named } from '../../html/html.ts';
import { htmlDocument, pageHeaders, sendProblem } from '../../html/layout.ts';
import { problemSummary } from '../parts/frame.ts';
import { embedPath, housePath, idIn, roomPath } from '../parts/public-addresses.ts';
import type { PageDeps } from '../parts/routes.ts';
import { Form } from '../parts/typed-form.ts';
import { COMPARED_ROOMS, publicComparePage, publicFindPage, ROOMS } from './find-page.ts';
import { housePage } from './house-page.ts';
import type { PageViews } from './page-views.ts';
import { type PublicPage, sendPublicPage, statusOf } from './public-page.ts';
import { monthOf, roomPage } from './room-page.ts';

type Deps = Pick<PageDeps, 'queries' | 'settings'> & { readonly views: PageViews; clock(): number };

/** Requests for these pages per network and minute, as for the sign-in page. */
const PER_MINUTE = { rateLimit: { max: 300, timeWindow: '1 minute' } };
/** Reads every space. */
const SITEMAP_PER_MINUTE = { rateLimit: { max: 20, timeWindow: '1 minute' } };
/** Addresses in a sitemap (sitemaps.org). */
const MOST_ADDRESSES = 50_000;

/** The pages for people without an account: of houses and spaces that are published, what websites embed, and what search engines read. */
export function publicPages(scope: FastifyInstance, deps: Deps): void {
  const { queries, settings, views, clock } = deps;

  scope.get<{ Params: { house: string } }>('/h/:house', { config: PER_MINUTE }, async ({ params, query }, reply) => {
    const id = idIn(params.house);
    const house = id === undefined ? undefined : await queries.published.house(id);
    if (house === undefined) return notPublished(reply);
    const path = housePath(house.community);
    return path === `/h/${params.house}`
      ? sendPublicPage(reply, await housePage(deps, house, new Form(query)))
      : moved(reply, path);
  });

  scope.get<{ Params: { house: string; room: string } }>(
    '/h/:house/:room',
    { config: PER_MINUTE },
    async (request, reply) => {
      const { house, room } = request.params;
      const published = await publishedIn(room);
      if (published === undefined || idIn(house) !== published.community.communityId) return notPublished(reply);
      const path = roomPath(published.community, published.space);
      if (path !== `/h/${house}/${room}`) return moved(reply, path);
      views.add(published.space, request);
      return sendPublicPage(reply, await roomPage(deps, published, clock(), monthIn(request)));
    },
  );

  scope.get(ROOMS, { config: PER_MINUTE }, async ({ query, ip }, reply) => {
    const of = { now: clock(), network: networkOf(ip) };
    return sendPublicPage(reply, await publicFindPage(deps, new Form(query), of));
  });

  scope.get(COMPARED_ROOMS, { config: PER_MINUTE }, async ({ query }, reply) =>
    sendPublicPage(reply, await publicComparePage(deps, new Form(query))),
  );

  scope.get<{ Params: { room: string } }>('/embed/:room', { config: PER_MINUTE }, async (request, reply) => {
    const published = await publishedIn(request.params.room);
    if (published === undefined) return notPublished(reply);
    const { space, community } = published;
    const { days, problems } = await monthOf(deps, published, clock(), {
      typed: monthIn(request),
      path: embedPath(space),
      opens: true,
    });
    return sendEmbedded(reply, published.community.house?.sites ?? [], {
      title: space.name,
      problems,
      main: html`<main id="main" class="embedded stack"><h1 class="visually-hidden">${named(space.name)}: free days</h1>
${problemSummary(problems)}${days}
<p><a href="${settings.publicUrl}${roomPath(community, space)}" target="_blank" rel="noopener">${named(space.name)}</a></p></main>`,
    });
  });

  scope.get('/embed.js', async (_request, reply) =>
    reply
      .headers({ 'cache-control': 'public, max-age=86400', 'cross-origin-resource-policy': 'cross-origin' })
      .type('text/javascript; charset=utf-8')
      .send(embedScript()),
  );

  scope.get('/sitemap.xml', { config: SITEMAP_PER_MINUTE }, async (_request, reply) => {
    const all = await queries.published.all();
    const paths = new Set(all.flatMap(({ space, community }) => [housePath(community), roomPath(community, space)]));
    const lines = [...paths]
      .slice(0, MOST_ADDRESSES)
      .map((path) => `<url><loc>${settings.publicUrl}${path}</loc></url>`);
    return reply.type('application/xml; charset=utf-8').send(`<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${lines.join('\n')}
</urlset>
`);
  });

  scope.get('/robots.txt', async (_request, reply) =>
    reply.type('text/plain; charset=utf-8').send(`User-agent: *
Allow: /h/
Allow: /rooms$
Allow: /photos/
Allow: /assets/
Disallow: /
Sitemap: ${settings.publicUrl}/sitemap.xml
`),
  );

  async function publishedIn(part: string) {
    const id = idIn(part);
    return id === undefined ? undefined : queries.published.space(id);
  }
}

const monthIn = ({ query }: FastifyRequest): string => new Form(query).text('month');

/** The name of the house or the room has changed. */
const moved = (reply: FastifyReply, path: string): FastifyReply => reply.redirect(path, 302);

/** The same for what does not exist and what is not published. */
const notPublished = (reply: FastifyReply): FastifyReply =>
  sendProblem(
    reply.header('x-robots-tag', 'noindex'),
    404,
    'There is no such page',
    'The house may have taken it down. Ask the house for the right address.',
  );

/** A page that only these websites may show in a frame. */
function sendEmbedded(
  reply: FastifyReply,
  sites: readonly string[],
  page: Pick<PublicPage, 'title' | 'main' | 'problems'>,
): FastifyReply {
  const { 'x-frame-options': _, ...headers } = pageHeaders([], sites);
  const { title, status } = statusOf(page);
  return reply
    .code(status)
    .headers({ ...headers, 'x-robots-tag': 'noindex' })
    .send(
      htmlDocument({
        title,
        body: page.main,
        head: html`<script src="${assetUrl('embedded.js')}" type="module"></script>`,
      }),
    );
}
