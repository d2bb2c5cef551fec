import type { FastifyReply, FastifyRequest } from 'fastify';
import { accountKey } from '../../domain/account.ts';
import { counted } from '../../html/formats.ts';
import { copyHeaders } from '../../http/copy-headers.ts';
import type { CurrentSession, Sessions } from '../sessions/sessions.ts';
import { type Change, type LiveFeed, OWN_TOPIC } from './live.ts';

/** How often a comment is sent on an open connection, so that a dead one is noticed. */
const HEARTBEAT_MS = 20_000;
/** How often the sessions of open connections are checked: a stream stops within two seconds of signing out. */
const CHECK_MS = 1_000;
/** Streams of one session: as many as browsers have connections to a host. A further one ends the oldest. */
const PER_SESSION = 6;
/** Streams of one account, in this process. A further one is refused. */
const PER_ACCOUNT = 60;
/** When a page connects again whose stream was ended for a newer one, in milliseconds. */
const ENDED_FOR_MS = 30_000;
/** Topics that a page may name. Ours have one or two. */
const MOST_TOPICS = 10;
/** A page with more unread bytes than these is disconnected, and catches up when it reconnects. */
const MAX_UNREAD_BYTES = 64 * 1024;

/**
 * Server-sent events to open pages, which refresh themselves when one arrives (docs/decisions/console.md).
 *
 * Not @fastify/sse: version 0.6.0 would save only the headers and the format of a message, and for a page that does not read, it buffers
 * without a bound and adds listeners to the response with each message, until Node.js warns of a leak.
 */
export function createEventStreams(deps: {
  readonly feed: Pick<LiveFeed, 'notifiedMark' | 'subscribe'>;
  readonly sessions: Pick<Sessions, 'isActive'>;
}) {
  const { feed, sessions } = deps;
  const open = new Set<{ readonly current: CurrentSession; end(): void; giveWay(): void }>();
  let checking: NodeJS.Timeout | undefined;

  /** Ends the streams of sessions that have ended, or whose user has another role now. Each session is looked up once. */
  function checkSessions(): void {
    const sameSession = Map.groupBy(open, ({ current: { hash, session, role } }) =>
      [hash, accountKey(session.account), role].join(' '),
    );
    for (const streams of sameSession.values()) {
      const end = () => {
        for (const stream of streams) stream.end();
      };
      const current = streams[0]?.current;
      if (current === undefined) continue;
      sessions.isActive(current).then((active) => !active && end(), end);
    }
  }

  /** Makes room for one more stream of a session. @returns whether there is some for its account */
  function makeRoom({ hash, session: { account } }: CurrentSession): boolean {
    const ofAccount = [...open].filter(({ current }) => accountKey(current.session.account) === accountKey(account));
    const ofSession = ofAccount.filter(({ current }) => current.hash === hash);
    if (ofSession.length < PER_SESSION) return ofAccount.length < PER_ACCOUNT;
    ofSession[0]?.giveWay();
    return true;
  }

  return {
    /**
     * Streams changes of some topics that concern the session's account until the page disconnects or the session ends.
     * @param page `topics`: those of the page, besides the account's own; `since`: the mark that it sends
     */
    connect(
      request: FastifyRequest,
      reply: FastifyReply,
      current: CurrentSession,
      page: { readonly topics: readonly string[]; readonly since: string },
    ): FastifyReply {
      if (!makeRoom(current))
        return reply
          .code(429)
          .header('retry-after', ENDED_FOR_MS / 1_000)
          .send('');
      const { session, user } = current;
      reply.hijack();
      const { raw } = reply;
      copyHeaders(reply);
      raw.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        // Keeps reverse proxies from buffering the stream.
        'x-accel-buffering': 'no',
      });
      const send = (text: string) => {
        if (raw.writableLength > MAX_UNREAD_BYTES) raw.destroy();
        else raw.write(text);
      };
      const onChange = (change: Change) => {
        const message = { topic: change.topic, announcement: announcementTo(user.id, change) };
        send(`id: ${feed.notifiedMark()}\ndata: ${JSON.stringify(message)}\n\n`);
      };
      raw.write(`retry: 2000\nid: ${feed.notifiedMark()}\n\n`);
      const topics = new Set([OWN_TOPIC, ...page.topics.slice(0, MOST_TOPICS)]);
      const { caughtUp, stop } = feed.subscribe({ account: session.account, topics, onChange }, page.since);
      if (!caughtUp) raw.write(`data: ${JSON.stringify({ topic: '*' })}\n\n`);

      const end = () => {
        clearInterval(heartbeat);
        stop();
        open.delete(stream);
        if (open.size === 0) {
          clearInterval(checking);
          checking = undefined;
        }
        raw.end();
      };
      const giveWay = () => {
        send(`retry: ${ENDED_FOR_MS}\n\n`);
        end();
      };
      const stream = { current, end, giveWay };
      const heartbeat = setInterval(() => send(': still here\n\n'), HEARTBEAT_MS);
      open.add(stream);
      checking ??= setInterval(checkSessions, CHECK_MS);
      request.raw.on('close', end);
      return reply;
    },

    /** Ends every stream before the process stops. Pages reconnect to another process. */
    endAll(): void {
      for (const { end } of [...open]) end();
    },
  };
}

/** One text for what others have changed. */
function announcementTo(userId: string, { announcements }: Change): string | undefined {
  const [first, ...more] = announcements.filter(({ by }) => by !== userId);
  return first && (more.length === 0 ? first.text : `${first.text}, and ${counted(more.length, 'other change')}`);
}
