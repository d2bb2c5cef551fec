import { setTimeout as sleep } from 'node:timers/promises';
import {
  CancelledError,
  type Credentials,
  DeadlineExceededError,
  EventStoreDBClient,
  isCommandError,
  NotLeaderError,
  type StreamingRead,
  TimeoutError,
  UnavailableError,
  UnknownError,
} from '@eventstore/db-client';
import pRetry from 'p-retry';
import type { BaseLogger } from 'pino';
import { Unavailable } from '../../runtime/unavailable.ts';
import { Wakeup } from '../../runtime/wakeup.ts';
import { within } from '../../runtime/within.ts';
import { AppendStream, type StoredAt } from './append-stream.ts';

/** The delay between attempts to open a subscription doubles up to this. */
const MAX_BACKOFF_MS = 5_000;
/** Delay before a dropped subscription is opened again. */
export const RECONNECT_DELAY_MS = 50;
/** How long `close` waits for calls in flight. */
const CLOSE_TIMEOUT_MS = 1_000;

/** The server did not respond within the deadline. Whether it executed the request is unknown. */
class NoResponse extends Error {
  constructor(what: string, milliseconds: number) {
    super(`EventStoreDB did not respond to ${what} within ${milliseconds} ms`);
    this.name = 'NoResponse';
  }
}

export type ConnectionOptions = {
  /** `esdb://…` or `kurrentdb://…` */
  readonly url: string;
  readonly logger?: Pick<BaseLogger, 'warn'>;
  /** How long to wait for a response, in milliseconds. Default 5 s. */
  readonly deadlineMs?: number;
  /** How long a start waits for the server, in milliseconds. Default 30 s. */
  readonly startWithinMs?: number;
};

/** Creates clients, and replaces the shared ones for appends and reads when they may be stuck. */
export class Connection {
  readonly deadlineMs: number;
  readonly #startWithinMs: number;
  /**
   * Passed to every append of the client's own, which makes it use the plain append: a separate call with a deadline. Its batch
   * append never times out and keeps the pending promises of all clients of the process in one table: a transport error of one
   * client rejects the appends of the others, and a response that arrives later throws where nothing can catch it.
   */
  readonly credentials: Credentials;
  readonly #url: string;
  readonly #logger: ConnectionOptions['logger'];
  readonly #clients = new Set<EventStoreDBClient>();
  /** Separate clients: abandoning a read makes its client reconnect, which must not disturb appends. */
  readonly #shared = new Map<'append' | 'read', EventStoreDBClient>();
  readonly #appends = new Map<EventStoreDBClient, AppendStream>();

  constructor(options: ConnectionOptions) {
    this.#url = options.url.replace(/^kurrent(db)?(?=[:+])/, 'esdb');
    this.#logger = options.logger;
    this.deadlineMs = options.deadlineMs ?? 5_000;
    this.#startWithinMs = options.startWithinMs ?? 30_000;
    const [, username = '', password = ''] = /^[^:]+:\/\/([^:@/]+):([^@/]+)@/.exec(this.#url) ?? [];
    this.credentials = { username: decodeURIComponent(username), password: decodeURIComponent(password) };
    // Throws now if the URL is malformed.
    this.client('append');
  }

  client(use: 'append' | 'read'): EventStoreDBClient {
    const client = this.#shared.get(use) ?? this.open();
    this.#shared.set(use, client);
    return client;
  }

  /** A dedicated client for a subscription, so that its failures affect nothing else. Dispose of it with `release`. */
  open(): EventStoreDBClient {
    const client = EventStoreDBClient.connectionString(this.#url);
    this.#clients.add(client);
    return client;
  }

  release(client: EventStoreDBClient): void {
    this.#clients.delete(client);
    client.dispose().catch(() => {});
  }

  /** @throws {NoResponse} if the call exceeds the deadline, which the client does not enforce everywhere */
  async call<Result>(what: string, call: (client: EventStoreDBClient) => Promise<Result>): Promise<Result> {
    const client = this.client('append');
    try {
      return await answerWithin(this.deadlineMs * 1.2, what, call(client));
    } catch (error) {
      this.reportFailure(client, error);
      throw error;
    }
  }

  /** As {@link call}, over the stream of appends. Appends are stored in the order of these calls. */
  async append(...append: Parameters<AppendStream['append']>): Promise<StoredAt> {
    const client = this.client('append');
    let stream = this.#appends.get(client);
    if (stream === undefined || stream.ended) {
      stream = new AppendStream(client);
      this.#appends.set(client, stream);
    }
    try {
      return await answerWithin(this.deadlineMs, 'an append', stream.append(...append));
    } catch (error) {
      this.reportFailure(client, error);
      throw error;
    }
  }

  /**
   * Reports a failed call. A client recovers from a lost connection by itself, but not from a failed discovery or an
   * unresponsive server: the next call then gets a new client. Calls in flight are left to finish.
   */
  reportFailure(client: EventStoreDBClient, error: unknown): void {
    if (error instanceof UnavailableError || error instanceof CancelledError || error instanceof NotLeaderError) return;
    if (!isTransient(error)) return;
    for (const [use, shared] of this.#shared) if (shared === client) this.#shared.delete(use);
    this.#clients.delete(client);
    const appends = this.#appends.get(client);
    this.#appends.delete(client);
    void appends?.close(this.deadlineMs);
  }

  /** Retries until `attempt` succeeds. @returns undefined if `stop` is aborted */
  async retryForever<Result>(
    what: string,
    attempt: () => Promise<Result>,
    stop: AbortSignal,
  ): Promise<Result | undefined> {
    try {
      return await this.#retry(what, attempt, { signal: stop });
    } catch (error) {
      if (stop.aborted) return undefined;
      throw error;
    }
  }

  /**
   * Retries what a start cannot do without.
   * @throws {Unavailable} if the server cannot be reached within `startWithinMs`
   */
  async retryWhileStarting<Result>(what: string, attempt: () => Promise<Result>): Promise<Result> {
    const signal = AbortSignal.timeout(this.#startWithinMs);
    let reason: unknown;
    const kept = (): Promise<Result> =>
      attempt().catch((error: unknown) => {
        reason = error;
        throw error;
      });
    try {
      return await this.#retry(what, kept, { signal, shouldRetry: isTransient });
    } catch (error) {
      if (isTransient(reason)) throw new Unavailable(`${what} failed`, reason);
      throw reason ?? error;
    }
  }

  #retry<Result>(
    what: string,
    attempt: () => Promise<Result>,
    { signal, shouldRetry = () => true }: { signal: AbortSignal; shouldRetry?: (error: unknown) => boolean },
  ): Promise<Result> {
    // p-retry gives up on a TypeError, which the client may throw, so every failure is wrapped.
    const wrapped = (): Promise<Result> =>
      attempt().catch((cause: unknown) => {
        throw new Error(`${what} failed`, { cause });
      });
    return pRetry(wrapped, {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 50,
      maxTimeout: MAX_BACKOFF_MS,
      randomize: true,
      signal,
      shouldRetry: ({ error }) => shouldRetry(error.cause),
      onFailedAttempt: ({ error }) => {
        if (!signal.aborted && shouldRetry(error.cause)) this.warn(error, `${what} failed; retrying`);
      },
    });
  }

  warn(error: unknown, message: string): void {
    this.#logger?.warn({ err: error }, message);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#appends.values()].map((appends) => appends.close(CLOSE_TIMEOUT_MS)));
    this.#appends.clear();
    const disposed = Promise.all([...this.#clients].map((client) => client.dispose()));
    // A call that the server never completes must not keep the process from exiting.
    await answerWithin(CLOSE_TIMEOUT_MS, 'closing the connections', disposed).catch(() => {});
    this.#clients.clear();
  }
}

/** Resolves after `milliseconds`, or immediately once `stop` is aborted. */
export async function pause(milliseconds: number, stop: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal: stop }).catch(() => {});
}

/** Whether the same call may succeed when retried. */
export function isTransient(error: unknown): boolean {
  return (
    error instanceof UnavailableError ||
    error instanceof CancelledError ||
    error instanceof DeadlineExceededError ||
    error instanceof TimeoutError ||
    error instanceof NotLeaderError ||
    error instanceof UnknownError ||
    error instanceof NoResponse ||
    // Not a response from the server: a failed discovery, a broken socket.
    (error instanceof Error && !isCommandError(error) && !(error instanceof TypeError))
  );
}

/** @throws {NoResponse} if `response` takes longer than `milliseconds` */
export const answerWithin = <R>(milliseconds: number, what: string, response: Promise<R>): Promise<R> =>
  within(milliseconds, response, () => new NoResponse(what, milliseconds));

/**
 * Yields what a read returns. The client's own reads have no deadline.
 * @throws {NoResponse} if the next item takes longer than `milliseconds` to arrive
 */
export async function* readWithin<Item>(
  milliseconds: number,
  what: string,
  read: StreamingRead<Item>,
): AsyncGenerator<Item> {
  const wakeup = new Wakeup();
  let ended = false;
  let failure: Error | undefined;
  read
    .on('readable', wakeup.wake)
    .on('end', () => {
      ended = true;
      wakeup.wake();
    })
    // Never removed: the client may emit errors late, and an 'error' event without a listener would crash the process.
    .on('error', (error) => {
      failure ??= error;
      wakeup.wake();
    });
  try {
    for (;;) {
      const item: Item | null = read.read();
      if (item !== null) yield item;
      else if (failure !== undefined) throw failure;
      else if (ended) return;
      else if (!(await wakeup.wait(milliseconds))) throw new NoResponse(what, milliseconds);
    }
  } finally {
    // Leaving the loop does not end the call on the server, and the client keeps an undrained read in memory.
    if (!ended) read.cancel().catch(() => {});
    read.removeListener('readable', wakeup.wake);
    setImmediate(() => read.resume());
  }
}
