import type { OperatedEventStore } from '../../src/event-store/event-store.ts';

/** An event store with some methods replaced. */
export const changedStore = (events: OperatedEventStore, changes: Partial<OperatedEventStore>): OperatedEventStore => ({
  append: (...args) => events.append(...args),
  load: (...args) => events.load(...args),
  readStream: (...args) => events.readStream(...args),
  readAll: (...args) => events.readAll(...args),
  lastEvent: () => events.lastEvent(),
  subscribe: (...args) => events.subscribe(...args),
  checkGroupRights: () => events.checkGroupRights(),
  consume: (...args) => events.consume(...args),
  ping: () => events.ping(),
  outage: events.outage,
  close: () => events.close(),
  ...changes,
});
