import type { FastifyReply, FastifyRequest } from 'fastify';
import { accountKey } from '../../domain/account.ts';
import { copyHeaders } from '../../runtime/copy-headers.ts';
import type { CurrentSession, Sessions } from '../sessions/sessions.ts';
import type { Change, LiveFeed } from './live.ts';

/** How often a comment is sent on an open connection, so that a dead one is noticed. */
const HEARTBEAT_MS = 20_000;
/** How often the sessions of open connections are checked: a stream stops within two seconds of signing out. */
const CHECK_MS = 1_000;
/** A page with more unread bytes than these is disconnected, and catches up when it reconnects. */
const MAX_UNREAD_BYTES = 64 * 1024;

/**
 * Server-sent events to open pages, which refresh themselves when one arrives (docs/decisions/console.md).
 *
 * Not @fastify/sse: version 0.6.0 would save only the headers and the format of a message, and for a page that does not read, it buffers
 * without a bound and adds listeners to the response with each message, until Node.js warns of a leak.
 */
export function createEventStreams(deps: {
  readonly feed: Pick<LiveFeed, 'markAt' | 'subscribe'>;
  readonly sessions: Pick<Sessions, 'isActive'>;
}) {
  const { feed, sessions } = deps;
  const open = new Set<{ readonly current: CurrentSession; end(): void }>();
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

  return {
    /**
     * Streams changes that concern the session's account until the page disconnects or the session ends.
     * @param marks `since`: the mark that the page sends; `now`: the current mark
     */
    connect(
      request: FastifyRequest,
      reply: FastifyReply,
      current: CurrentSession,
      marks: { readonly since: string; readonly now: string },
    ): void {
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
        const message = { topic: change.topic, announcement: change.by === user.id ? undefined : change.announcement };
        send(`id: ${feed.markAt(change)}\ndata: ${JSON.stringify(message)}\n\n`);
      };
      raw.write(`retry: 2000\nid: ${marks.now}\n\n`);
      const { caughtUp, stop } = feed.subscribe({ account: session.account, onChange }, marks.since);
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
      const stream = { current, end };
      const heartbeat = setInterval(() => send(': still here\n\n'), HEARTBEAT_MS);
      open.add(stream);
      checking ??= setInterval(checkSessions, CHECK_MS);
      request.raw.on('close', end);
    },

    /** Ends every stream before the process stops. Pages reconnect to another process. */
    endAll(): void {
      for (const { end } of [...open]) end();
    },
  };
}
