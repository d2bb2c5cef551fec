import { createHash } from 'node:crypto';
import type { FastifyPluginAsync } from 'fastify';
import { isCheckOld } from '../auth/access.ts';
import type { FindFeed } from '../auth/calendar-feeds.ts';
import { type IsSuspended, SUSPENDED } from '../auth/suspension.ts';
import { busyBooking, namedBooking, uidOf } from '../contract/calendar-event.ts';
import { CALENDAR_END, type CalendarEvent, calendarBegin, eventText } from '../contract/icalendar.ts';
import { accountKey } from '../domain/account.ts';
import { calendarIdOn } from '../domain/closure.ts';
import { registerCompression } from '../http/compression.ts';
import { CHUNK, sendChunks } from '../http/send-chunks.ts';
import { createTurns } from '../http/turns.ts';
import type { Feed, FeedEntry } from '../queries/calendar-feeds.ts';
import type { Queries } from '../queries/queries.ts';
import { sendTagged } from './entity-tags.ts';
import { sendError, sendRefusal } from './errors.ts';

/** Concurrent answers with one feed. Further ones wait: a client that reads slowly holds up no other feed. */
const PER_FEED = 2;
/** The same with all feeds of an account, so that one account cannot slow down the others. */
const PER_ACCOUNT = 8;
/** The largest feed that is made in memory, and so has an entity tag: about 10,000 events. */
const MAX_TAGGED = 4 * 1024 * 1024;

type Deps = {
  readonly findFeed: FindFeed;
  readonly isSuspended: IsSuspended;
  readonly queries: Pick<Queries, 'accounts' | 'calendarFeeds' | 'spaces'>;
  readonly publicUrl: string;
  /** The id of the log, for the ids of events. */
  readonly logId: string;
};

/**
 * The calendar feeds of users. The address is the credential, so no header is needed, and no page of another site may read it (no CORS).
 * Routes are logged by their pattern, so the secret is in no log.
 */
export const calendarFeedRoute =
  (deps: Deps): FastifyPluginAsync =>
  async (app) => {
    const ofFeed = createTurns(PER_FEED);
    const ofAccount = createTurns(PER_ACCOUNT);
    await registerCompression(app);

    app.get<{ Params: { file: string } }>('/calendar/:file', async (request, reply) => {
      const [secret = '', extension] = request.params.file.split(/(?=\.ics$)/);
      const checkedAt = performance.now();
      const feed = extension === undefined ? undefined : await deps.findFeed(secret);
      // The address of a door hangs where people read it, and shows them no other day.
      if (feed === undefined || feed.isDoor) return sendError(reply, 'ResourceNotFound', NO_FEED);
      // The connection has closed, so nothing need be read.
      if ((await ofFeed.take(feed.feedId, reply.raw)) === undefined) return reply.hijack();
      if ((await ofAccount.take(accountKey(feed.account), reply.raw)) === undefined) return reply.hijack();
      if (isCheckOld(checkedAt) && (await deps.findFeed(secret)) === undefined)
        return sendError(reply, 'ResourceNotFound', NO_FEED);
      if (await deps.isSuspended(feed.account)) return sendRefusal(reply, SUSPENDED);
      const chunks = chunksOf(feed, deps);
      const hash = createHash('sha256');
      const parts: Buffer[] = [];
      let size = 0;
      let next = await chunks.next();
      while (!next.done && size < MAX_TAGGED && !reply.raw.destroyed) {
        parts.push(next.value);
        size += next.value.length;
        hash.update(next.value);
        next = await chunks.next();
      }
      reply.type('text/calendar; charset=utf-8');
      if (next.done) {
        const entityTag = `W/"${hash.digest('base64url').slice(0, 16)}"`;
        return sendTagged(request, reply, entityTag, Buffer.concat(parts));
      }
      return sendChunks(reply, inTurn([...parts, next.value], chunks), () =>
        reply.header('cache-control', 'private, no-cache'),
      );
    });
  };

const NO_FEED = 'There is no such calendar feed. Its address is incomplete, it was revoked, or its user has left.';

/** The chunks that are there, then the others. Ends those, too, if the client goes away before they are asked for. */
async function* inTurn(parts: readonly Buffer[], chunks: AsyncGenerator<Buffer, undefined>): AsyncGenerator<Buffer> {
  try {
    yield* parts;
    yield* chunks;
  } finally {
    await chunks.return(undefined);
  }
}

/** The text of a feed in chunks, each made when it is asked for. */
async function* chunksOf(feed: Feed, deps: Deps): AsyncGenerator<Buffer, undefined> {
  let text = calendarBegin(await nameOf(feed, deps.queries));
  for await (const entry of deps.queries.calendarFeeds.entries(feed)) {
    text += eventText(feed.showsNames ? named(entry, feed, deps) : busy(entry, deps));
    if (text.length < CHUNK) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(text + CALENDAR_END);
  return undefined;
}

/** The name of the calendar. */
async function nameOf({ account, spaceId, showsNames }: Feed, { accounts, spaces }: Deps['queries']): Promise<string> {
  if (!showsNames) return BUSY;
  const space = spaceId === undefined ? undefined : await spaces.get(account, spaceId);
  return [space?.name, await accounts.name(account)].filter((name) => name !== undefined).join(', ');
}

const BUSY = 'Busy';

/** What every feed shows: no name, no title, no place, no address of a page. */
function busy(entry: FeedEntry, { logId }: Pick<Deps, 'logId'>): CalendarEvent {
  if (entry.kind === 'Booking') return busyBooking(entry.booking, logId);
  const { start, end, closure, changedAt, date } = entry;
  return {
    uid: uidOf(`closure-${calendarIdOn(closure, date)}-${date}`, logId),
    start,
    end,
    ...(closure.start === 0 && closure.until === 24 && { wholeDay: date }),
    createdAt: closure.replaces?.firstAddedAt ?? closure.addedAt,
    changedAt,
    isTentative: false,
    summary: BUSY,
  };
}

/** The same with names, titles and a link. */
function named(entry: FeedEntry, { account }: Feed, deps: Pick<Deps, 'publicUrl' | 'logId'>): CalendarEvent {
  const { publicUrl } = deps;
  if (entry.kind === 'Booking') return namedBooking(entry.booking, account, { ...deps, community: entry.community });
  const { closureId, kind, title } = entry.closure;
  const url = `${publicUrl}/console/calendar/closures/${closureId}`;
  const closed = title === undefined ? 'Closed' : `Closed: ${title}`;
  const summary = kind === 'OwnEvent' ? (title ?? 'Own event') : closed;
  return { ...busy(entry, deps), summary, location: entry.spaceNames.join(', '), url };
}
