import { setImmediate as nextTurn } from 'node:timers/promises';
import { isUnavailable, OutcomeUnknown, Unavailable } from '../runtime/unavailable.ts';
import { UnusableStore } from '../runtime/unusable-store.ts';

/** A worker, or the port to its parent. */
type Port = {
  postMessage(message: unknown): void;
  on(event: 'message', listener: (message: unknown) => void): unknown;
};

/** How long a call waits for an ended thread to restart and answer. */
const RESTARTED_WITHIN_MS = 8_000;

/** The calls between two threads, by name. Argument and result must be cloneable. */
export type Calls = { readonly [name: string]: { readonly argument: unknown; readonly result: unknown } };

/** Calls another thread. @throws the error it threw */
type Ask<C extends Calls> = <N extends keyof C & string>(
  name: N,
  argument: C[N]['argument'],
) => Promise<C[N]['result']>;

/** `isRepeated`: it was sent before, to a thread that has ended and may have run it. */
type Question = { readonly id: number; readonly name: string; readonly argument: unknown; readonly isRepeated?: true };
type Answer = { readonly id: number } & ({ readonly result: unknown } | { readonly failed: PlainError });
type PendingCall = { readonly question: Question; readonly answered: PromiseWithResolvers<unknown> };

/** Calls a thread that serves with {@link answer}. The port changes when that thread restarts. */
export type Caller<C extends Calls> = {
  readonly ask: Ask<C>;
  /** Uses this port from now on. Repeats calls without an answer. */
  connect(port: Port): void;
  /** The thread has ended: calls wait for its replacement. */
  disconnect(): void;
  /** Rejects waiting and future calls. */
  close(reason: Error): void;
};

/** Sends the calls of one turn of the event loop as one message, because each message wakes the other thread. */
export function createCaller<C extends Calls>(): Caller<C> {
  const pendingCalls = new Map<number, PendingCall>();
  let send: ((question: Question) => void) | undefined;
  let next = 0;
  let failure: Error | undefined;
  let restarting: NodeJS.Timeout | undefined;

  function rejectAll(reason: Error): void {
    for (const { answered } of pendingCalls.values()) answered.reject(reason);
    pendingCalls.clear();
  }

  /** The thread has answered, or no call is waiting. */
  function stopWaiting(): void {
    clearTimeout(restarting);
    restarting = undefined;
  }

  return {
    ask(name, argument) {
      if (failure !== undefined) return Promise.reject(failure);
      const answered = Promise.withResolvers<unknown>();
      const question = { id: next++, name, argument };
      pendingCalls.set(question.id, { question, answered });
      send?.(question);
      return answered.promise;
    },
    connect(port) {
      if (pendingCalls.size === 0) stopWaiting();
      failure = undefined;
      send = inBatches<Question>(port, setImmediate);
      port.on('message', (answers) => {
        if (!isBatch<Answer>(answers)) return;
        stopWaiting();
        for (const answer of answers) {
          const pending = pendingCalls.get(answer.id);
          pendingCalls.delete(answer.id);
          if ('failed' in answer) pending?.answered.reject(errorOf(answer.failed));
          else pending?.answered.resolve(answer.result);
        }
      });
      for (const { question } of pendingCalls.values()) send({ ...question, isRepeated: true });
    },
    disconnect() {
      send = undefined;
      // One limit covers all restarts, because a thread may end repeatedly before it answers. The first start has no limit.
      restarting ??= setTimeout(() => {
        stopWaiting();
        const message = 'The thread that writes to the store has ended';
        if (send === undefined) failure = new Unavailable(message);
        rejectAll(new OutcomeUnknown(message));
      }, RESTARTED_WITHIN_MS).unref();
    },
    close(reason) {
      stopWaiting();
      send = undefined;
      failure = reason;
      rejectAll(reason);
    },
  };
}

/**
 * Serves the calls from the other end of a port.
 * @returns resolves when every call that has arrived is answered. The port may be closed then
 */
export function answer<C extends Calls>(
  port: Port,
  calls: { readonly [N in keyof C]: (argument: C[N]['argument'], isRepeated: boolean) => Promise<C[N]['result']> },
): () => Promise<void> {
  // Send before the next commit, which may wait for the disk.
  const send = inBatches<Answer>(port, process.nextTick);
  const handlers = new Map<string, (argument: unknown, isRepeated: boolean) => Promise<unknown>>(Object.entries(calls));
  const running = new Set<Promise<void>>();
  port.on('message', (questions) => {
    if (!isBatch<Question>(questions)) return;
    for (const { id, name, argument, isRepeated = false } of questions) {
      const handler = handlers.get(name);
      if (handler === undefined) throw new Error(`Another thread called ${name}, which is unknown`);
      const answered = handler(argument, isRepeated)
        .then(
          (result) => send({ id, result }),
          (error: unknown) => send({ id, failed: plainErrorOf(error) }),
        )
        .finally(() => running.delete(answered));
      running.add(answered);
    }
  });
  return async () => {
    while (running.size > 0) await Promise.all(running);
    // The last answers are sent in this turn. A closed port would drop them.
    await nextTurn();
  };
}

/** Calls share their port with plain messages. */
const isBatch = <T>(message: unknown): message is readonly T[] => Array.isArray(message);

/** Collects items until `later` and sends them as one message. */
function inBatches<T>(port: Port, later: (flush: () => void) => void): (item: T) => void {
  let batch: T[] = [];
  return (item) => {
    batch.push(item);
    if (batch.length > 1) return;
    later(() => {
      const items = batch;
      batch = [];
      port.postMessage(items);
    });
  };
}

/** An error without its class, which structured cloning drops. */
type PlainError = {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly cause: PlainError | undefined;
  readonly unavailable: { readonly publicMessage: string | undefined } | undefined;
};

function plainErrorOf(error: unknown): PlainError {
  const { name, message, stack, cause } = error instanceof Error ? error : new Error(String(error));
  return {
    name,
    message,
    stack,
    cause: cause === undefined ? undefined : plainErrorOf(cause),
    unavailable: isUnavailable(error) ? { publicMessage: error.publicMessage } : undefined,
  };
}

function errorOf({ name, message, stack, cause, unavailable }: PlainError): Error {
  const why = cause && errorOf(cause);
  const error =
    unavailable === undefined
      ? name === 'UnusableStore'
        ? new UnusableStore(message, why)
        : new Error(message, { cause: why })
      : new Unavailable(message, why, unavailable.publicMessage);
  error.name = name;
  if (stack !== undefined) error.stack = stack;
  return error;
}
