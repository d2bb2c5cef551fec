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
import { Wakeup } from '../../runtime/wakeup.ts';

/** Pauses between attempts to open a subscription double, up to this. */
const LONGEST_PAUSE_MS = 5_000;
/** Pause before a subscription that broke off is opened again. */
export const RESUME_MS = 50;

/** The server gave no answer in time. Nobody knows whether it did what it was asked. */
class NoAnswer extends Error {
  constructor(what: string, milliseconds: number) {
    super(`EventStoreDB gave no answer to ${what} within ${milliseconds} ms`);
    this.name = 'NoAnswer';
  }
}

export type ConnectionOptions = {
  /** `esdb://…` or `kurrentdb://…` */
  readonly url: string;
  readonly logger?: Pick<BaseLogger, 'warn'>;
  /** How long an answer is waited for, in milliseconds. Default 5 s. */
  readonly deadlineMs?: number;
};

/** Makes clients, and replaces the one for appends and reads when it may be stuck. */
export class Connection {
  readonly deadlineMs: number;
  /**
   * Handed to every append: the client then takes the plain append, one call of its own with a deadline. Its batch
   * append never times out, and shares a table of promises among all clients of the process: a transport error of one
   * rejects the appends of the others, and an answer that comes afterwards throws where nobody can catch it.
   */
  readonly credentials: Credentials;
  readonly #url: string;
  readonly #logger: ConnectionOptions['logger'];
  readonly #clients = new Set<EventStoreDBClient>();
  /** One each: a read that is left early makes its client reconnect, which appends must not notice. */
  readonly #shared = new Map<'append' | 'read', EventStoreDBClient>();

  constructor(options: ConnectionOptions) {
    this.#url = options.url.replace(/^kurrent(db)?(?=[:+])/, 'esdb');
    this.#logger = options.logger;
    this.deadlineMs = options.deadlineMs ?? 5_000;
    const [, username = '', password = ''] = /^[^:]+:\/\/([^:@/]+):([^@/]+)@/.exec(this.#url) ?? [];
    this.credentials = { username: decodeURIComponent(username), password: decodeURIComponent(password) };
    // A URL that cannot be understood is found out here.
    this.client('append');
  }

  client(use: 'append' | 'read'): EventStoreDBClient {
    const client = this.#shared.get(use) ?? this.open();
    this.#shared.set(use, client);
    return client;
  }

  /** A client of its own for a subscription, so that its troubles are its own. Give it back with `release`. */
  open(): EventStoreDBClient {
    const client = EventStoreDBClient.connectionString(this.#url);
    this.#clients.add(client);
    return client;
  }

  release(client: EventStoreDBClient): void {
    this.#clients.delete(client);
    client.dispose().catch(() => {});
  }

  /** @throws {NoAnswer} when the call takes longer than the deadline, which the client does not see to everywhere */
  async call<Answer>(what: string, call: (client: EventStoreDBClient) => Promise<Answer>): Promise<Answer> {
    const client = this.client('append');
    try {
      return await within(this.deadlineMs * 1.2, what, call(client));
    } catch (error) {
      this.failed(client, error);
      throw error;
    }
  }

  /**
   * Tells that a call failed. A client finds its way back from a lost connection, but not from a failed discovery nor
   * from a server that went silent: then the next call gets a new one. Calls under way end as they will.
   */
  failed(client: EventStoreDBClient, error: unknown): void {
    if (error instanceof UnavailableError || error instanceof CancelledError || error instanceof NotLeaderError) return;
    if (!isTransient(error)) return;
    for (const [use, shared] of this.#shared) if (shared === client) this.#shared.delete(use);
    this.#clients.delete(client);
  }

  /** Tries until it succeeds, however long that takes; undefined when `stop` was aborted. */
  async retryForever<Result>(
    what: string,
    attempt: () => Promise<Result>,
    stop: AbortSignal,
  ): Promise<Result | undefined> {
    // A TypeError out of the client would make p-retry give up, so every failure is wrapped.
    const wrapped = (): Promise<Result> =>
      attempt().catch((cause: unknown) => {
        throw new Error(`${what} failed`, { cause });
      });
    try {
      return await pRetry(wrapped, {
        retries: Number.POSITIVE_INFINITY,
        minTimeout: 50,
        maxTimeout: LONGEST_PAUSE_MS,
        randomize: true,
        signal: stop,
        onFailedAttempt: ({ error }) => {
          if (!stop.aborted) this.warn(error, `${what} failed; trying again`);
        },
      });
    } catch (error) {
      if (stop.aborted) return undefined;
      throw error;
    }
  }

  warn(error: unknown, message: string): void {
    this.#logger?.warn({ err: error }, message);
  }

  async close(): Promise<void> {
    const disposed = Promise.all([...this.#clients].map((client) => client.dispose()));
    // A call that the server never ends must not keep the process from ending.
    await within(1_000, 'the end of all calls', disposed).catch(() => {});
    this.#clients.clear();
  }
}

/** Resolves after `milliseconds`, or at once when `stop` is aborted. */
export async function pause(milliseconds: number, stop: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal: stop }).catch(() => {});
}

/** True when the same call may succeed a little later. */
export function isTransient(error: unknown): boolean {
  return (
    error instanceof UnavailableError ||
    error instanceof CancelledError ||
    error instanceof DeadlineExceededError ||
    error instanceof TimeoutError ||
    error instanceof NotLeaderError ||
    error instanceof UnknownError ||
    error instanceof NoAnswer ||
    // What is no answer of the server: a failed discovery, a broken socket.
    (error instanceof Error && !isCommandError(error) && !(error instanceof TypeError))
  );
}

/** @throws {NoAnswer} when `answer` takes longer than `milliseconds` */
export async function within<Answer>(milliseconds: number, what: string, answer: Promise<Answer>): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new NoAnswer(what, milliseconds)), milliseconds);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * What a read yields; the client's reads have no deadline.
 * @throws {NoAnswer} when nothing comes for `milliseconds` while it is waited for
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
    // Stays for good: the client emits errors late too, and one that nobody hears would end the process.
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
      else if (!(await wakeup.wait(milliseconds))) throw new NoAnswer(what, milliseconds);
    }
  } finally {
    // Leaving the loop does not end the call on the server; and the client keeps a read in memory that is not drained.
    if (!ended) read.cancel().catch(() => {});
    read.removeListener('readable', wakeup.wake);
    setImmediate(() => read.resume());
  }
}
