import { isUnavailable, Unavailable } from './unavailable.ts';
import { UnusableStore } from './unusable-store.ts';

/** What one thread asks another: by name, the argument and the result, both of which can be cloned. */
export type Calls = { readonly [name: string]: { readonly argument: unknown; readonly result: unknown } };

/** The thread that was asked has ended. Whether it did what it was asked is unknown. */
export class ThreadEnded extends Error {
  constructor() {
    super('The thread ended before it answered');
    this.name = 'ThreadEnded';
  }
}

/** Asks another thread. @throws what it threw, or {@link ThreadEnded} */
export type Ask<C extends Calls> = <N extends keyof C & string>(
  name: N,
  argument: C[N]['argument'],
) => Promise<C[N]['result']>;

type Question = { readonly id: number; readonly name: string; readonly argument: unknown };
type Answer = { readonly id: number } & ({ readonly result: unknown } | { readonly failed: PlainError });

/** A worker, or the port to its parent. */
type Port = {
  postMessage(message: unknown): void;
  on(event: 'message', listener: (message: unknown) => void): unknown;
};

/** Asks over a port at whose other end {@link answer} is listening. What is asked in one turn of the event loop travels together. */
export function createAsk<C extends Calls>(
  port: Port,
): { readonly ask: Ask<C>; readonly ended: (reason?: Error) => void } {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const send = gather<Question>(port);
  let next = 0;
  let failure: Error | undefined;
  port.on('message', (answers: unknown) => {
    if (!isBatch<Answer>(answers)) return;
    for (const answered of answers) {
      const asked = waiting.get(answered.id);
      waiting.delete(answered.id);
      if ('failed' in answered) asked?.reject(errorOf(answered.failed));
      else asked?.resolve(answered.result);
    }
  });
  return {
    ask(name, argument) {
      if (failure !== undefined) return Promise.reject(failure);
      const asked = Promise.withResolvers<unknown>();
      const id = next++;
      waiting.set(id, asked);
      send({ id, name, argument });
      return asked.promise;
    },
    ended(reason = new ThreadEnded()) {
      failure ??= reason;
      for (const asked of waiting.values()) asked.reject(failure);
      waiting.clear();
    },
  };
}

/** Answers what the other end of a port asks. */
export function answer<C extends Calls>(
  port: Port,
  calls: { readonly [N in keyof C]: (argument: C[N]['argument']) => Promise<C[N]['result']> },
): void {
  const send = gather<Answer>(port);
  const handlers = new Map<string, (argument: unknown) => Promise<unknown>>(Object.entries(calls));
  port.on('message', (questions: unknown) => {
    if (!isBatch<Question>(questions)) return;
    for (const { id, name, argument } of questions) {
      const handler = handlers.get(name);
      if (handler === undefined) throw new Error(`Another thread asks for ${name}, which is unknown`);
      handler(argument).then(
        (result) => send({ id, result }),
        (error: unknown) => send({ id, failed: plainErrorOf(error) }),
      );
    }
  });
}

/** Calls share their port with plain messages. */
const isBatch = <T>(message: unknown): message is readonly T[] => Array.isArray(message);

/** Sends what is given to it in one turn of the event loop as one message: each message wakes the other thread. */
function gather<T>(port: Port): (item: T) => void {
  let waiting: T[] = [];
  return (item) => {
    waiting.push(item);
    if (waiting.length > 1) return;
    setImmediate(() => {
      const items = waiting;
      waiting = [];
      port.postMessage(items);
    });
  };
}

/** An error without its class, which does not survive the way between threads. */
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
    ...{ name, message, stack },
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
