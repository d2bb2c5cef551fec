import { setTimeout as sleep } from 'node:timers/promises';
import { type Credentials, NotLeaderError, type StreamingRead } from '@eventstore/db-client';
import pRetry from 'p-retry';
import type { BaseLogger } from 'pino';
import { within } from '../../event-loop/within.ts';
import { LogUnavailable } from '../../runtime/unavailable.ts';
import type { Outage } from '../outage.ts';
import { AppendStream, type StoredAt } from './append-stream.ts';
import { isTransient, LeaderChanged, NoResponse } from './failures.ts';
import { addressOf } from './gossip.ts';
import { Leader, StoreClosed } from './leader.ts';
import { createNames, type Names, type NamesOptions } from './names.ts';
import { NodeClient } from './node-client.ts';
import { readItems, SILENCE_MS } from './read-items.ts';
import { appendTo, explained, type Task } from './rights.ts';
import { type Endpoint, readSettings, type Settings } from './settings.ts';

/** The delay between attempts to open a subscription doubles up to this. */
const MAX_BACKOFF_MS = 2_000;
/** Delay before a dropped subscription is opened again. */
export const RECONNECT_DELAY_MS = 50;
/** How long `close` waits for calls in flight. */
const CLOSE_TIMEOUT_MS = 1_000;
/** After this long an outage, calls no longer wait for its end. An election takes less (docs/decisions/event-log.md). */
const PATIENCE_MS = 15_000;
/**
 * How many deadlines a call waits for the end of an outage: less than 10 s, so that the request can still report that nothing was
 * done.
 */
const DEADLINES_IN_OUTAGE = 1.8;
/** How long a call is tried once an outage has lasted longer. */
const LAST_TRY_MS = 1_000;

export type ConnectionOptions = NamesOptions & {
  /** `esdb://…` or `kurrentdb://…` */
  readonly url: string;
  readonly logger?: Pick<BaseLogger, 'warn'>;
  /** How long to wait for a response, in milliseconds. Default 5 s. A call and its repetitions take twice as long at most. */
  readonly deadlineMs?: number;
  /** How long startup waits for the server, in milliseconds. Default 30 s. */
  readonly startWithinMs?: number;
  /** How long calls wait for the end of an outage, counted from its start, in milliseconds. Default 15 s. */
  readonly patienceMs?: number;
};

/** Creates clients of the leader, and replaces them when it fails or changes. */
export class Connection {
  readonly deadlineMs: number;
  readonly names: Names;
  /** Aborted when the event store is closed. */
  readonly closing: AbortSignal;
  readonly #startWithinMs: number;
  readonly #patienceMs: number;
  readonly #outage: Outage;
  /** Passed to the client's own appends, to make it use the plain append (docs/decisions/eventstoredb.md). */
  readonly credentials: Credentials;
  readonly #settings: Settings;
  readonly #logger: ConnectionOptions['logger'];
  readonly #leader: Leader;
  readonly #clients = new Set<NodeClient>();
  /** Separate clients, because abandoning a read must not disturb appends. */
  readonly #shared = new Map<'append' | 'read', NodeClient>();
  readonly #appends = new Map<NodeClient, AppendStream>();

  /** @throws {TypeError} if the URL cannot be used */
  constructor(options: ConnectionOptions, outage: Outage, closing: AbortSignal) {
    this.#outage = outage;
    this.closing = closing;
    this.#settings = readSettings(options.url);
    this.names = createNames(options);
    this.#logger = options.logger;
    this.deadlineMs = options.deadlineMs ?? 5_000;
    this.#startWithinMs = options.startWithinMs ?? 30_000;
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS;
    this.credentials = this.#settings.credentials ?? { username: '', password: '' };
    this.#leader = new Leader({
      settings: this.#settings,
      closing,
      moved: (leader) => this.#follow(leader),
      missing: (error) => outage.suspect(error),
    });
  }

  /** The time after which a call that begins now is not repeated. */
  givesUpAt(): number {
    const now = performance.now();
    const since = this.#outage.since();
    if (since === undefined) return now + 2 * this.deadlineMs;
    return Math.min(now + DEADLINES_IN_OUTAGE * this.deadlineMs, Math.max(now, since + this.#patienceMs) + LAST_TRY_MS);
  }

  /** The deadline of one attempt, limited by the time when the call gives up. */
  #upTo(givesUpAt: number): number {
    return Math.max(1, Math.min(this.deadlineMs, givesUpAt - performance.now()));
  }

  async #client(use: 'append' | 'read', withinMs: number): Promise<NodeClient> {
    const leader = await this.#leader.find(withinMs);
    return this.#shared.getOrInsertComputed(use, () => this.#open(leader));
  }

  /** The client shared by reads. @param givesUpAt how long to wait for a leader */
  reader(givesUpAt: number): Promise<NodeClient> {
    return this.#client('read', this.#upTo(givesUpAt));
  }

  #open(node: Endpoint): NodeClient {
    const client = new NodeClient(node, this.#settings);
    this.#clients.add(client);
    return client;
  }

  /**
   * A dedicated client for a subscription, so that its failures affect nothing else. Waits for a leader. Dispose of it with
   * `release`.
   */
  async open(stop: AbortSignal): Promise<NodeClient> {
    return this.#open(await unlessAborted(stop, this.#leader.find()));
  }

  release(client: NodeClient): void {
    this.#clients.delete(client);
    client.close();
  }

  /** @throws {NoResponse} if the call exceeds the deadline, which the client does not enforce everywhere */
  call<Result>(task: Task, call: (client: NodeClient) => Promise<Result>): Promise<Result> {
    return this.#ask(task, call, this.deadlineMs, () => this.deadlineMs * 1.2);
  }

  /** Like {@link call}, over the stream of appends. */
  append(givesUpAt: number, ...append: Parameters<AppendStream['append']>): Promise<StoredAt> {
    const send = (client: NodeClient): Promise<StoredAt> => {
      const open = this.#appends.get(client);
      const stream = open === undefined || open.ended ? new AppendStream(client) : open;
      this.#appends.set(client, stream);
      return stream.append(...append);
    };
    const limit = () => this.#upTo(givesUpAt);
    return this.#ask(appendTo(append[0]), send, limit(), limit);
  }

  async #ask<Result>(
    task: Task,
    call: (client: NodeClient) => Promise<Result>,
    leaderWithinMs: number,
    limit: () => number,
  ): Promise<Result> {
    const client = await this.#client('append', leaderWithinMs);
    try {
      return await this.answer(client, limit(), task, call(client));
    } catch (error) {
      this.failed(client, error);
      throw error;
    }
  }

  /**
   * Yields what a read returns. The client's own reads have no deadline.
   * @throws {NoResponse} if the first item does not arrive by `givesUpAt`, or any item within the deadline
   */
  async *read<Item>(
    task: Task,
    givesUpAt: number,
    open: (client: NodeClient) => StreamingRead<Item>,
  ): AsyncGenerator<Item> {
    const client = await this.reader(givesUpAt);
    const silent = () => this.#leader.suspect(client.node, 'silent');
    try {
      yield* readItems(client, open(client), task.what, [this.#upTo(givesUpAt), this.deadlineMs], silent);
    } catch (error) {
      this.failed(client, error);
      throw this.#explained(error, task);
    }
  }

  /**
   * Waits for the response of a node.
   * @throws {NoResponse} after `milliseconds` without an answer
   * @throws {LeaderChanged} if another node has become the leader
   * @throws {UnusableStore} if the user lacks the right
   */
  async answer<R>(client: NodeClient, milliseconds: number, task: Task, response: Promise<R>): Promise<R> {
    const { promise: ended, reject } = Promise.withResolvers<never>();
    const withdraw = client.onGivenUp(reject);
    const first = Math.min(SILENCE_MS, milliseconds);
    let timer = setTimeout(() => {
      this.#leader.suspect(client.node, 'silent');
      timer = setTimeout(() => reject(new NoResponse(task.what, milliseconds)), milliseconds - first);
    }, first);
    try {
      return await Promise.race([response, ended]);
    } catch (error) {
      throw this.#explained(error, task);
    } finally {
      clearTimeout(timer);
      withdraw();
    }
  }

  /** Reports a failed call: checks the leader at once and gives the next call a new client. Calls in flight may finish. */
  failed(client: NodeClient, error: unknown): void {
    if (!isTransient(error)) return;
    this.#outage.suspect(error);
    if (error instanceof NotLeaderError) this.#leader.hasOtherNodes();
    this.#leader.suspect(client.node, 'failed');
    for (const [use, shared] of this.#shared) {
      if (shared !== client) continue;
      this.#shared.delete(use);
      this.#clients.delete(client);
      const appends = this.#appends.get(client);
      this.#appends.delete(client);
      if (appends === undefined) client.retire();
      else void appends.close(this.deadlineMs).finally(() => client.retire());
    }
  }

  readonly #explained = (error: unknown, task: Task): unknown =>
    explained(error, task, this.#settings.credentials !== undefined);

  /** Ends all calls that wait for a former leader. They are repeated or resumed on the new one. */
  #follow(leader: Endpoint): void {
    for (const client of [...this.#clients]) {
      if (addressOf(client.node) === addressOf(leader)) continue;
      this.#clients.delete(client);
      this.#appends.delete(client);
      for (const [use, shared] of this.#shared) if (shared === client) this.#shared.delete(use);
      client.giveUp(new LeaderChanged(client.node));
    }
  }

  /**
   * Waits until the server can be reached.
   * @throws {Unavailable} if it cannot within `startWithinMs`
   * @throws {UnusableStore} if the URL or the user is wrong
   */
  async reach(ping: () => Promise<void>): Promise<void> {
    await this.retryWhileStarting('Connecting to EventStoreDB', ping);
    this.#leader.started();
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
   * Retries a step that startup requires.
   * @throws {Unavailable} if the server cannot be reached within `startWithinMs`
   */
  async retryWhileStarting<Result>(what: string, attempt: () => Promise<Result>): Promise<Result> {
    const signal = AbortSignal.timeout(this.#startWithinMs);
    let reason: unknown;
    const attemptOnce = (): Promise<Result> =>
      attempt().catch((error: unknown) => {
        reason = error;
        throw error;
      });
    try {
      return await this.#retry(what, attemptOnce, { signal, shouldRetry: isTransient });
    } catch (error) {
      if (isTransient(reason)) throw new LogUnavailable(`${what} failed`, reason);
      throw reason ?? error;
    }
  }

  #retry<Result>(
    what: string,
    attempt: () => Promise<Result>,
    { signal, shouldRetry = () => true }: { signal: AbortSignal; shouldRetry?: (error: unknown) => boolean },
  ): Promise<Result> {
    // p-retry gives up on a TypeError, which the client may throw, so wrap every failure.
    const wrapped = (): Promise<Result> =>
      unlessAborted(signal, attempt()).catch((cause: unknown) => {
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
        if (!signal.aborted && shouldRetry(error.cause)) this.warn(error.cause, `${what} failed; retrying`);
      },
    });
  }

  /** Logs a failure, except during an outage, which is logged separately. */
  warn(error: unknown, message: string): void {
    if (isTransient(error)) this.#outage.suspect(error);
    else this.#logger?.warn({ reason: error instanceof Error ? error.message : error }, message);
  }

  /** Logs an event handler's error, except during an outage. */
  warnOfHandlerError(error: unknown, message: string): void {
    if (this.#outage.since() === undefined) this.#logger?.warn({ err: error }, message);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#appends.values()].map((appends) => appends.close(CLOSE_TIMEOUT_MS)));
    this.#appends.clear();
    // Fail running reads, because the client would end them as if they were complete.
    for (const client of this.#clients) client.giveUp(new StoreClosed());
    const disposed = Promise.all([...this.#clients].map((client) => client.dispose()));
    this.#clients.clear();
    // A call without an answer must not keep the process from exiting.
    await within(CLOSE_TIMEOUT_MS, disposed).catch(() => {});
  }
}

/** Resolves after `milliseconds`, or immediately once `stop` is aborted. */
export async function pause(milliseconds: number, stop: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal: stop }).catch(() => {});
}

/** Waits for `work` until the signal is aborted, then rejects with its reason. `work` runs on. */
async function unlessAborted<R>(signal: AbortSignal, work: Promise<R>): Promise<R> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
