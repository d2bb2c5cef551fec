import { Wakeup } from '../../src/event-loop/wakeup.ts';
import { checkEvents, checkStreamName } from '../../src/event-store/check-event.ts';
import {
  type Appended,
  type Batch,
  type Consume,
  type Consumer,
  type EventToLoad,
  type ExpectedRevision,
  type HandleEvent,
  LOG_START,
  type NewEvent,
  type OperatedEventStore,
  type Position,
  type ReadAll,
  type ReadStream,
  type StoredEvent,
  type Subscribe,
  WrongExpectedRevision,
} from '../../src/event-store/event-store.ts';
import { createHandling } from '../../src/event-store/handling.ts';
import { type Outage, watchOutage } from '../../src/event-store/outage.ts';
import { numberOf, positionOf } from '../../src/event-store/sqlite/stored-event.ts';
import type { Watch } from '../webhooks/watched-documents.ts';
import { frozenCopy } from './frozen-copy.ts';

/** Events in a batch, as on the other engines. */
const BATCH = 512;
const RETRY_DELAY_MS = 250;

/** What a log holds, and what wakes those who read it. Any number of stores may be open on one disk. */
export type EventsDisk = {
  readonly log: StoredEvent[];
  readonly streams: Map<string, StoredEvent[]>;
  /** The position of the last event. */
  end: number;
  readonly waiting: Set<Wakeup>;
};

export const newEventsDisk = (): EventsDisk => ({ log: [], streams: new Map(), end: 0, waiting: new Set() });

export type MemoryEventsOptions = {
  /** Hooks around every call, with the stream or the group: they may delay it, make it fail, or never resolve. */
  readonly watch?: Watch;
  /** What a group hands out of the events that are new. It may forget, repeat and reorder any. Default: all of them. */
  readonly handOut?: (events: readonly StoredEvent[], group: string) => readonly StoredEvent[];
};

/** A log in memory. Without hooks, each call takes effect at once and is answered in a later microtask. */
export const openMemoryEvents = (disk: EventsDisk, options: MemoryEventsOptions = {}): OperatedEventStore =>
  new MemoryEventStore(disk, options);

class MemoryEventStore implements OperatedEventStore {
  readonly #disk: EventsDisk;
  readonly #options: MemoryEventsOptions;
  readonly #closing = new AbortController();
  readonly #consumers = new Set<GroupConsumer>();
  readonly outage: Outage;

  constructor(disk: EventsDisk, options: MemoryEventsOptions) {
    this.#disk = disk;
    this.#options = options;
    this.outage = watchOutage(() => this.ping(), this.#closing.signal, {});
  }

  async append(
    stream: string,
    events: readonly NewEvent[],
    { expectedRevision }: { readonly expectedRevision: ExpectedRevision },
  ): Promise<Appended> {
    checkStreamName(stream);
    const checked = checkEvents(events);
    return this.#call('append', stream, () => {
      const actual = this.#revision(stream);
      if (actual !== expectedRevision) {
        const first = expectedRevision === 'none' ? 0 : expectedRevision + 1;
        const appended = this.#disk.streams.get(stream)?.slice(first, first + checked.length) ?? [];
        const isRepeated = checked.every(({ id }, index) => appended[index]?.id === id);
        const last = appended.at(-1);
        if (isRepeated && last !== undefined) return { revision: last.revision, position: last.position };
        throw new WrongExpectedRevision(stream, expectedRevision, actual);
      }
      const stored = checked.map((event) => this.#add(stream, event));
      this.#wake();
      return { revision: stored.at(-1)?.revision ?? 0, position: stored.at(-1)?.position ?? LOG_START };
    });
  }

  load(events: readonly EventToLoad[]): Promise<readonly Position[]> {
    return this.#call('load', '', () => {
      const positions = events.map(({ stream, revision, ...event }) => {
        const [expected, actual] = [revision === 0 ? 'none' : revision - 1, this.#revision(stream)] as const;
        if (actual !== expected) throw new WrongExpectedRevision(stream, expected, actual);
        return this.#add(stream, event).position;
      });
      this.#wake();
      return positions;
    });
  }

  async *readStream(stream: string, { from = 0, limit }: ReadStream = {}): AsyncGenerator<StoredEvent> {
    const end = limit === undefined ? undefined : from + limit;
    yield* await this.#call('readStream', stream, () => this.#disk.streams.get(stream)?.slice(from, end) ?? []);
  }

  async *readAll({ after = LOG_START, types, limit }: ReadAll = {}): AsyncGenerator<StoredEvent> {
    numberOf(after);
    yield* await this.#call('readAll', '', () => eventsAfter(this.#disk, after, types, limit).events);
  }

  lastEvent(): Promise<StoredEvent | undefined> {
    return this.#call('lastEvent', '', () => this.#disk.log.at(-1));
  }

  async *subscribe({ after = LOG_START, types, signal }: Subscribe): AsyncGenerator<Batch> {
    this.#checkOpen();
    const stop = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    const wakeup = listen(this.#disk, stop);
    try {
      for (let [at, isFirst] = [after, true]; !stop.aborted; ) {
        const next = () => eventsAfter(this.#disk, at, types, BATCH);
        const batch = await this.#call('subscribe', '', next).catch(() => undefined);
        if (stop.aborted) return;
        if (batch !== undefined && (batch.position !== at || isFirst)) {
          [at, isFirst] = [batch.position, false];
          yield batch;
        }
        if (batch === undefined) await wakeup.wait(RETRY_DELAY_MS);
        else if (batch.caughtUp && !stop.aborted) await wakeup.wait();
      }
    } finally {
      this.#disk.waiting.delete(wakeup);
    }
  }

  async checkGroupRights(): Promise<void> {}

  async consume(group: string, options: Consume, handler: HandleEvent): Promise<Consumer> {
    return this.#call('consume', group, () => {
      const { handOut = (events) => events } = this.#options;
      const read = (after: Position, limit: number) =>
        this.#call('handOut', group, () => {
          const next = eventsAfter(this.#disk, after, options.types, limit);
          return { ...next, events: handOut(next.events, group) };
        });
      const consumer = new GroupConsumer({ disk: this.#disk, read }, options, handler);
      this.#consumers.add(consumer);
      return { close: () => consumer.close().finally(() => this.#consumers.delete(consumer)) };
    });
  }

  ping(): Promise<void> {
    return this.#call('ping', '', () => {});
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await Promise.all([...this.#consumers].map((consumer) => consumer.close()));
  }

  /** One call, which takes effect at one moment. */
  async #call<R>(method: string, of: string, work: () => R): Promise<R> {
    this.#checkOpen();
    const { before, after } = this.#options.watch ?? {};
    await before?.(method, of);
    this.#checkOpen();
    const result = work();
    await after?.(method, of);
    return result;
  }

  #add(stream: string, event: ReturnType<typeof checkEvents>[number] & { readonly position?: Position }): StoredEvent {
    const { id, type, data, metadata, position } = event;
    this.#disk.end = position === undefined ? this.#disk.end + 1 : numberOf(position);
    const events = this.#disk.streams.getOrInsertComputed(stream, () => []);
    const at = { stream, revision: events.length, position: positionOf(this.#disk.end) };
    const stored = frozenCopy({ id, type, ...at, data, metadata });
    events.push(stored);
    this.#disk.log.push(stored);
    return stored;
  }

  #revision(stream: string): ExpectedRevision {
    return this.#disk.streams.get(stream)?.at(-1)?.revision ?? 'none';
  }

  #wake(): void {
    for (const each of this.#disk.waiting) each.wake();
  }

  #checkOpen(): void {
    if (this.#closing.signal.aborted) throw new Error('The event store is closed');
  }
}

/** The next events of these types, at most `limit`. */
function eventsAfter(
  { log, end }: EventsDisk,
  after: Position,
  types: readonly string[] | undefined,
  limit = Number.POSITIVE_INFINITY,
): Batch {
  const events: StoredEvent[] = [];
  for (let index = indexAfter(log, after); index < log.length && events.length < limit; index += 1) {
    const event = log[index];
    if (event !== undefined && (types === undefined || types.includes(event.type))) events.push(event);
  }
  const last = events.length === limit ? events.at(-1)?.position : positionOf(end);
  const position = last === undefined || last < after ? after : last;
  return { events, position, caughtUp: position >= positionOf(end) };
}

/** The index of the first event after a position. Readers nearly always want the last few. */
function indexAfter(log: readonly StoredEvent[], after: Position): number {
  let [low, high] = [0, log.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((log[middle]?.position ?? '') > after) high = middle;
    else low = middle + 1;
  }
  return low;
}

function listen(disk: EventsDisk, stop: AbortSignal): Wakeup {
  const wakeup = new Wakeup();
  disk.waiting.add(wakeup);
  stop.addEventListener('abort', wakeup.wake);
  return wakeup;
}

/** Hands out the events after `after`, and stores nothing, like the embedded engine: its caller knows where a group stands. */
class GroupConsumer {
  readonly #closing = new AbortController();
  readonly #handle: (event: StoredEvent) => Promise<unknown>;
  readonly #ended: Promise<void>;

  constructor(
    deps: { readonly disk: EventsDisk; readonly read: (after: Position, limit: number) => Promise<Batch> },
    options: Consume,
    handler: HandleEvent,
  ) {
    const handling = createHandling(this.#closing.signal, () => {});
    this.#handle = (event) => handling(() => handler(event));
    this.#ended = this.#run(deps, options);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#ended;
  }

  async #run(
    { disk, read }: ConstructorParameters<typeof GroupConsumer>[0],
    { after, concurrency = 8 }: Consume,
  ): Promise<void> {
    const { signal } = this.#closing;
    const wakeup = listen(disk, signal);
    const running = new Set<Promise<unknown>>();
    for (let at = after(); !signal.aborted; ) {
      const capacity = concurrency - running.size;
      const next = capacity === 0 ? undefined : await read(at, capacity).catch(() => 'failed' as const);
      if (signal.aborted) break;
      if (next === 'failed') {
        await wakeup.wait(RETRY_DELAY_MS);
        continue;
      }
      at = next?.position ?? at;
      for (const event of next?.events ?? []) {
        const handled = this.#handle(event).finally(() => {
          running.delete(handled);
          wakeup.wake();
        });
        running.add(handled);
      }
      if (next === undefined || next.caughtUp) await wakeup.wait();
    }
    disk.waiting.delete(wakeup);
    await Promise.all(running);
  }
}
