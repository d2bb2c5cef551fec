import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Wakeup } from '../../event-loop/wakeup.ts';
import type { Consume, HandleEvent, StoredEvent } from '../event-store.ts';
import { createHandling } from '../handling.ts';
import type { LogTail } from './log-tail.ts';
import { numberOf } from './stored-event.ts';

/** Delay after a failed read (a damaged file, …). */
const RETRY_DELAY_MS = 250;

export type GroupConsumerDeps = {
  readonly tail: LogTail;
  readonly onError: (error: unknown) => void;
  /** Called with the first of several failures of the handler. */
  readonly onFailure: (error: unknown) => void;
};

/** A consumer of a group. It hands out the events after `after`, and stores nothing: where a group stands is known to its caller. */
export class GroupConsumer {
  readonly #deps: GroupConsumerDeps;
  readonly #handler: HandleEvent;
  readonly #types: readonly string[];
  readonly #concurrency: number;
  readonly #wakeup: Wakeup;
  readonly #closing = new AbortController();
  readonly #handling: ReturnType<typeof createHandling>;
  /** The handlers that run. */
  readonly #running = new Set<Promise<void>>();
  /** Each event up to this position was handed out. */
  #begunTo: number;
  readonly #ended: Promise<void>;

  constructor(deps: GroupConsumerDeps, options: Consume, handler: HandleEvent) {
    this.#deps = deps;
    this.#handler = handler;
    this.#types = options.types;
    this.#concurrency = options.concurrency ?? 8;
    this.#begunTo = numberOf(options.after());
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
        if (!this.#beginNext() || this.#capacity() === 0) await this.#wakeup.wait();
      } catch (error) {
        onError(error);
        await this.#wakeup.wait(RETRY_DELAY_MS);
      }
      // The projector gets its turn here, so handlers need not wait for the read models.
      await nextTurn();
    }
    await Promise.all(this.#running);
    tail.unsubscribe(this.#wakeup);
  }

  /** How many more events may be handled concurrently. */
  #capacity(): number {
    return this.#concurrency - this.#running.size;
  }

  /** Starts to handle the next events. @returns whether the log has more */
  #beginNext(): boolean {
    const { events, reached, hasMore } = this.#deps.tail.read(this.#begunTo, this.#types, this.#capacity());
    this.#begunTo = reached;
    for (const { event } of events) {
      const handled = this.#handle(event).finally(() => {
        this.#running.delete(handled);
        this.#wakeup.wake();
      });
      this.#running.add(handled);
    }
    return hasMore;
  }

  async #handle(event: StoredEvent): Promise<void> {
    await this.#handling(() => this.#handler(event));
  }
}
