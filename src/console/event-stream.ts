import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Change, LiveFeed } from './live.ts';
import type { Current, Sessions } from './sessions.ts';

/** How often an open connection is checked: is the session still on, is anybody there? In milliseconds. */
const HEARTBEAT_MS = 20_000;

/**
 * Server-sent events to open pages; each page looks again at what it shows when it is told.
 *
 * Neither @fastify/sse nor fastify-sse-v2 asks now and then whether a connection may stay open, or ends connections when the
 * service stops. With @fastify/sse each message to a page that does not read leaves listeners and a promise behind that
 * nothing ever settles.
 */
export function createEventStreams(deps: {
  readonly feed: Pick<LiveFeed, 'mark' | 'markAt' | 'subscribe'>;
  readonly sessions: Pick<Sessions, 'goesOn'>;
}) {
  const { feed, sessions } = deps;
  const open = new Set<() => void>();

  return {
    /** Answers with a stream of what concerns the session's account, until the page or the session goes. */
    connect(request: FastifyRequest, reply: FastifyReply, { hash, session, user }: Current, since: string): void {
      reply.hijack();
      const { raw } = reply;
      raw.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        // Proxies that collect answers would hold back what happens now.
        'x-accel-buffering': 'no',
      });
      const onChange = (change: Change) => {
        const told = { topic: change.topic, ...(change.by === user.id ? {} : { say: change.say }) };
        raw.write(`id: ${feed.markAt(change)}\ndata: ${JSON.stringify(told)}\n\n`);
      };
      raw.write(`retry: 2000\nid: ${feed.mark()}\n\n`);
      const { caughtUp, stop } = feed.subscribe({ account: session.account, onChange }, since);
      if (!caughtUp) raw.write(`data: ${JSON.stringify({ topic: '*' })}\n\n`);

      const end = () => {
        clearInterval(heartbeat);
        stop();
        open.delete(end);
        raw.end();
      };
      const heartbeat = setInterval(() => {
        raw.write(': still here\n\n');
        sessions.goesOn(hash, session.account).then(
          (on) => !on && end(),
          () => end(),
        );
      }, HEARTBEAT_MS);
      open.add(end);
      request.raw.on('close', end);
    },

    /** Ends every stream: the process is about to stop, pages connect to the next one. */
    endAll(): void {
      for (const end of [...open]) end();
    },
  };
}
