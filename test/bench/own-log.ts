import type { EventStore, Position, StoredEvent } from '../../src/event-store/event-store.ts';

/** A part of a log that others use, too: its streams and groups have a prefix, and it begins where the log ended before. */
export type OwnLog = { readonly prefix: string; readonly from: Position };

/** Shows a service its own part of a log as if it were the whole. */
export function ownLog(log: EventStore, { prefix, from }: OwnLog): EventStore {
  const isOwn = ({ stream }: StoredEvent) => stream.startsWith(prefix);
  const own = (event: StoredEvent): StoredEvent => ({ ...event, stream: event.stream.slice(prefix.length) });
  const start = (after: Position | undefined): Position => (after === undefined || after < from ? from : after);

  return {
    append: (stream, events, options) => log.append(prefix + stream, events, options),
    load: (events) => log.load(events.map((event) => ({ ...event, stream: prefix + event.stream }))),
    async *readStream(stream, options) {
      for await (const event of log.readStream(prefix + stream, options)) yield own(event);
    },
    async *readAll({ after, direction = 'forward', limit = Number.POSITIVE_INFINITY, ...options } = {}) {
      const backward = direction === 'backward';
      const given = backward ? after : start(after);
      let remaining = limit;
      for await (const event of log.readAll({ ...options, direction, ...(given !== undefined && { after: given }) })) {
        if (remaining === 0 || (backward && event.position <= from)) return;
        if (!isOwn(event)) continue;
        remaining -= 1;
        yield own(event);
      }
    },
    async *subscribe(options) {
      for await (const batch of log.subscribe({ ...options, after: start(options.after) }))
        yield { ...batch, events: batch.events.filter(isOwn).map(own) };
    },
    createGroup: (group, options) => log.createGroup(prefix + group, { ...options, after: start(options.after) }),
    moveGroup: (group, options) => log.moveGroup(prefix + group, { ...options, after: start(options.after) }),
    groupPosition: (group) => log.groupPosition(prefix + group),
    async consume(group, options, handler) {
      await log.createGroup(prefix + group, { types: options.types, after: from });
      return log.consume(prefix + group, options, async (event) => {
        if (isOwn(event)) await handler(own(event));
      });
    },
    async *parked(group) {
      for await (const parked of log.parked(prefix + group)) yield { ...parked, event: own(parked.event) };
    },
    now: () => log.now(),
    ping: () => log.ping(),
    close: () => log.close(),
  };
}
