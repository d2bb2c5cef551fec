import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Wakeup } from '../../runtime/wakeup.ts';
import { type Consume, type HandleEvent, LOG_START, type StoredEvent } from '../event-store.ts';
import { createHandling } from '../handling.ts';
import type { ConsumerGroups } from './consumer-groups.ts';
import type { LogTail } from './log-tail.ts';
import { numberOf } from './stored-event.ts';

/** How often a consumer stores the checkpoint. After a kill, the events handled since are delivered again. */
const STORE_EVERY_MS = 1_000;
/** Delay after a failed read or transaction (disk full, …). */
const RETRY_DELAY_MS = 250;

export type GroupConsumerDeps = {
  readonly group: string;
  readonly groups: ConsumerGroups;
  readonly tail: LogTail;
  readonly onError: (error: unknown) => void;
  /** Called with the first of several failures of the handler. */
  readonly onFailure: (error: unknown) => void;
};

/**
 * A consumer of a group. What it has begun to handle is kept in memory; only the checkpoint is stored. Should two consume at the same time,
 * both handle the same events, and the checkpoint only moves forward.
 */
export class GroupConsumer {
  readonly #deps: GroupConsumerDeps;
  readonly #handler: HandleEvent;
  readonly #types: readonly string[];
  readonly #concurrency: number;
  readonly #wakeup: Wakeup;
  readonly #closing = new AbortController();
  readonly #handling: ReturnType<typeof createHandling>;
  /** The events that are not handled, by position, in log order. */
  readonly #unhandled = new Map<number, Promise<void>>();
  /** Each event up to this position is handled or in `#unhandled`; undefined before the checkpoint is read. */
  #begunTo: number | undefined;
  /** The stored checkpoint. */
  #stored = 0;
  /** When to store the checkpoint again (monotonic, ms). */
  #storeAt = Number.POSITIVE_INFINITY;
  readonly #ended: Promise<void>;

  constructor(deps: GroupConsumerDeps, options: Consume, handler: HandleEvent) {
    this.#deps = deps;
    this.#handler = handler;
    this.#types = options.types;
    this.#concurrency = options.concurrency ?? 8;
    this.#handling = createHandling(this.#closing.signal, deps.onFailure);
    this.#wakeup = deps.tail.subscribe();
    this.#ended = this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#wakeup.wake();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { tail, onError } = this.#deps;
    while (!this.#closing.signal.aborted) {
      try {
        if (performance.now() >= this.#storeAt) await this.#store();
        const hasMore = this.#beginNext();
        if (!hasMore || this.#capacity() === 0) await this.#wakeup.wait(this.#untilStoreMs());
      } catch (error) {
        onError(error);
        await this.#wakeup.wait(RETRY_DELAY_MS);
      }
      // The projector gets its turn here, so handlers need not wait for the read models.
      await nextTurn();
    }
    await Promise.all(this.#unhandled.values());
    await this.#store().catch(onError);
    tail.unsubscribe(this.#wakeup);
  }

  /** How many more events may be handled concurrently. */
  #capacity(): number {
    return this.#concurrency - this.#unhandled.size;
  }

  /** Starts to handle the next events. @returns whether the log has more */
  #beginNext(): boolean {
    if (this.#closing.signal.aborted) return false;
    const { group, groups, tail } = this.#deps;
    const from = this.#begunTo ?? numberOf(groups.position(group) ?? LOG_START);
    if (this.#begunTo === undefined) this.#stored = from;
    const { events, reached, hasMore } = tail.read(from, this.#types, this.#capacity());
    this.#begunTo = reached;
    for (const { position, event } of events) this.#unhandled.set(position, this.#handle(position, event));
    const isAllStored = this.#unhandled.size === 0 && this.#stored === reached;
    if (!isAllStored) this.#storeAt = Math.min(this.#storeAt, performance.now() + STORE_EVERY_MS);
    return hasMore;
  }

  async #handle(position: number, event: StoredEvent): Promise<void> {
    if (await this.#handling(() => this.#handler(event))) this.#unhandled.delete(position);
    this.#wakeup.wake();
  }

  /** Stores up to which position every event is handled. */
  async #store(): Promise<void> {
    if (this.#begunTo === undefined) return;
    const { group, groups } = this.#deps;
    const [first] = this.#unhandled.keys();
    const checkpoint = first === undefined ? this.#begunTo : first - 1;
    await groups.advance(group, checkpoint);
    this.#stored = checkpoint;
    this.#storeAt = Number.POSITIVE_INFINITY;
  }

  #untilStoreMs(): number | undefined {
    return this.#storeAt === Number.POSITIVE_INFINITY ? undefined : Math.max(0, this.#storeAt - performance.now());
  }
}
