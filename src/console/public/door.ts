import type { FastifyInstance, FastifyReply } from 'fastify';
import type { FindFeed } from '../../auth/calendar-feeds.ts';
import type { IsSuspended } from '../../auth/suspension.ts';
import { assetUrl } from '../../html/assets.ts';
import { longDate } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { htmlDocument, pageHeaders, sendProblem } from '../../html/layout.ts';
import type { FeedEntry } from '../../queries/calendar-feeds.ts';
import type { PageDeps } from '../parts/routes.ts';

type Deps = Pick<PageDeps, 'queries'> & {
  readonly findFeed: FindFeed;
  readonly isSuspended: IsSuspended;
  clock(): number;
};

/** Requests per network and minute: a house has many doors behind one address. */
const PER_MINUTE = { rateLimit: { max: 300, timeWindow: '1 minute' } };
/** How often a screen without scripts loads its page again, in seconds. */
const REFRESHED_EVERY = 30;

/**
 * The sheet at the door of a space: what takes it today, for a screen or on paper. The address is the credential, as for calendar feeds. No
 * session and no cookie. A script keeps it up to date, and on the screen while the service is away.
 */
export function doorPage(scope: FastifyInstance, { queries, findFeed, isSuspended, clock }: Deps): void {
  scope.get<{ Params: { secret: string } }>('/door/:secret', { config: PER_MINUTE }, async ({ params }, reply) => {
    const feed = await findFeed(params.secret);
    if (!feed?.isDoor || (await isSuspended(feed.account))) return noSheet(reply);
    const day = await queries.calendarFeeds.atDoor(feed);
    if (day === undefined) return noSheet(reply);
    const { space, date, entries } = day;
    const shown = entries.map((entry) => entryView(entry, { now: clock(), zone: space.timeZone, ...feed }));
    return reply.headers(headers()).send(
      htmlDocument({
        title: space.name,
        head: html`<script src="${assetUrl('door.js')}" type="module"></script>
<noscript><meta http-equiv="refresh" content="${String(REFRESHED_EVERY)}"></noscript>`,
        body: html`<main id="main" class="door" tabindex="-1"><h1>${named(space.name)}</h1><p>${longDate(date)}</p>
${shown.length === 0 ? html`<p class="free">Free today</p>` : html`<ol role="list">${shown}</ol>`}</main>`,
      }),
    );
  });
}

type Shown = { readonly now: number; readonly zone: string; readonly showsNames: boolean };

function entryView(entry: FeedEntry, { now, zone, showsNames }: Shown): Html {
  const isNow = entry.start <= now && now < entry.end;
  const hours = `${clockTime(entry.start, zone)}–${endTime(entry.end, zone)}`;
  return html`<li${isNow && html` aria-current="true"`}><span class="hours">${hours}</span>
<span class="who">${showsNames ? named(nameOf(entry)) : 'Busy'}${isNow && html` <small>now</small>`}</span></li>`;
}

function nameOf(entry: FeedEntry): string {
  if (entry.kind === 'Booking') return entry.booking.brandName;
  const { kind, title } = entry.closure;
  // Why a house is closed is for its members.
  return kind === 'OwnEvent' ? (title ?? 'Own event') : 'Closed';
}

/** `09:30`, by the clock of the space. */
const clockTime = (moment: number, zone: string): string =>
  Temporal.Instant.fromEpochMilliseconds(moment)
    .toZonedDateTimeISO(zone)
    .toPlainTime()
    .toString({ smallestUnit: 'minute' });

/** Midnight is the end of the day. */
const endTime = (moment: number, zone: string): string => clockTime(moment, zone).replace(/^00:00$/, '24:00');

/** The page has no links, and must not tell another site its address. */
const headers = () => ({ ...pageHeaders(), 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex' });

/** The same for an address that was revoked and one that never existed. */
const noSheet = (reply: FastifyReply): FastifyReply =>
  sendProblem(
    reply.headers(headers()),
    404,
    'There is no such page',
    'The house has revoked this address, or made another one.',
  );
