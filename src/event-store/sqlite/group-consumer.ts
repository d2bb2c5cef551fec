import { setImmediate as nextTurn } from 'node:timers/promises';
import { untilNext } from '../../runtime/rounds.ts';
import type { Wakeup } from '../../runtime/wakeup.ts';
import type { Consume, HandleEvent } from '../event-store.ts';
import { RejoinBackoff } from '../rejoin-backoff.ts';
import { type ConsumerGroups, newConsumer } from './consumer-groups.ts';
import type { LogTail } from './log-tail.ts';
import { numberOf } from './stored-event.ts';

/** How often the active consumer stores its checkpoint. After a kill, the events handled since are delivered again. */
const STORE_EVERY_MS = 1_000;
/** How often a consumer that stands by checks whether it can take the group over. */
const STANDBY_POLL_MS = 250;
/** Delay after a failed transaction (disk full, …). */
const RETRY_DELAY_MS = 250;

export type GroupConsumerDeps = {
  readonly group: string;
  readonly groups: ConsumerGroups;
  readonly tail: LogTail;
  readonly onError: (error: unknown) => void;
  /** Called when the consumer has left its group because its handler failed. */
  readonly onLeave: (error: unknown) => void;
};

/**
 * One consumer of a group. At any time, one consumer of a group is active: the newest, until it leaves. The others stand by. Claims are
 * kept in memory; only the checkpoint is stored.
 */
export class GroupConsumer {
  readonly #id = newConsumer();
  readonly #deps: GroupConsumerDeps;
  readonly #handler: HandleEvent;
  readonly #types: readonly string[];
  readonly #concurrency: number;
  readonly #wakeup: Wakeup;
  readonly #closing = new AbortController();
  readonly #backoff: RejoinBackoff;
  /** Whether it has not tried to become the active consumer. */
  #isNew = true;
  /** The events that are not handled, by position, in log order. One whose handler failed stays. */
  readonly #unhandled = new Map<number, Promise<void>>();
  /** The handler error that makes this consumer leave the group. */
  #failure: { readonly error: unknown } | undefined;
  /** Each event up to this position is handled or in `#unhandled`. */
  #claimedTo = 0;
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
    this.#backoff = new RejoinBackoff(options.ready, this.#closing.signal);
    this.#wakeup = deps.tail.subscribe();
    this.#ended = this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#wakeup.wake();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { tail, onError, onLeave } = this.#deps;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      if (!(await this.#activate().catch(onError))) {
        await untilNext(STANDBY_POLL_MS, signal);
        continue;
      }
      await this.#consume();
      if (this.#failure === undefined) continue;
      onLeave(this.#failure.error);
      this.#failure = undefined;
      await this.#backoff.wait();
    }
    tail.unsubscribe(this.#wakeup);
  }

  /** @returns whether it is the active consumer now */
  async #activate(): Promise<boolean> {
    const { group, groups } = this.#deps;
    const after = await groups.activate(group, this.#id, this.#isNew);
    this.#isNew = false;
    if (after === undefined) return false;
    this.#claimedTo = this.#stored = numberOf(after);
    this.#storeAt = Number.POSITIVE_INFINITY;
    return true;
  }

  /** Runs until the consumer closes, its handler fails or another consumer takes over. Then frees the group. */
  async #consume(): Promise<void> {
    const { group, groups, onError } = this.#deps;
    while (this.#mayClaim()) {
      try {
        if (groups.active(group) !== this.#id) break;
        if (performance.now() >= this.#storeAt) await this.#store();
        const hasMore = this.#claim();
        if (!hasMore || this.#capacity() === 0) await this.#wakeup.wait(this.#untilStoreMs());
      } catch (error) {
        onError(error);
        await this.#wakeup.wait(RETRY_DELAY_MS);
      }
      // The projector gets its turn here, so handlers need not wait for the read models.
      await nextTurn();
    }
    // After a failure, other consumers need not wait for the other handlers.
    if (this.#failure === undefined) await Promise.all(this.#unhandled.values());
    // If this fails, other consumers take over later.
    await groups.leave(group, this.#id, this.#checkpoint()).catch(onError);
    await Promise.all(this.#unhandled.values());
    this.#unhandled.clear();
  }

  #mayClaim(): boolean {
    return !this.#closing.signal.aborted && this.#failure === undefined;
  }

  /** How many more events may be handled concurrently. */
  #capacity(): number {
    return this.#concurrency - this.#unhandled.size;
  }

  /** Starts to handle the next events. @returns whether the log has more */
  #claim(): boolean {
    if (!this.#mayClaim()) return false;
    const { events, reached, hasMore } = this.#deps.tail.read(this.#claimedTo, this.#types, this.#capacity());
    this.#claimedTo = reached;
    for (const { position, event } of events) this.#unhandled.set(position, this.#handle(position, event));
    const isAllStored = this.#unhandled.size === 0 && this.#stored === reached;
    if (!isAllStored) this.#storeAt = Math.min(this.#storeAt, performance.now() + STORE_EVERY_MS);
    return hasMore;
  }

  async #handle(position: number, event: Parameters<HandleEvent>[0]): Promise<void> {
    try {
      await this.#handler(event);
      this.#unhandled.delete(position);
      this.#backoff.reset();
    } catch (error) {
      this.#failure ??= { error };
    }
    this.#wakeup.wake();
  }

  /** Every event up to this position is handled. */
  #checkpoint(): number {
    const [first] = this.#unhandled.keys();
    return first === undefined ? this.#claimedTo : first - 1;
  }

  async #store(): Promise<void> {
    const { group, groups } = this.#deps;
    const checkpoint = this.#checkpoint();
    await groups.store(group, this.#id, checkpoint);
    this.#stored = checkpoint;
    this.#storeAt = Number.POSITIVE_INFINITY;
  }

  #untilStoreMs(): number | undefined {
    return this.#storeAt === Number.POSITIVE_INFINITY ? undefined : Math.max(0, this.#storeAt - performance.now());
  }
}
