import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { changedStore } from '../event-store/changed-store.ts';
import { watched } from '../webhooks/watched-documents.ts';

/** `killed`: the connections end, too. `frozen`: the process stays in its consumer groups and takes events that it never handles. */
export type Death = 'killed' | 'frozen';

/**
 * The stores of a process that dies at a call, or when it is told to. From then on no call has an effect, nor an answer.
 * @param death how it dies
 * @param options.diesAt the number of the call, from 1, and whether the call itself still has its effect
 */
export function mortalStores(
  stores: { readonly events: OperatedEventStore; readonly documents: OperatedDocumentStore },
  death: Death,
  options: { readonly diesAt?: { readonly call: number; readonly done: boolean } } = {},
) {
  const buried = Promise.withResolvers<never>();
  buried.promise.catch(() => {});
  /** The calls so far, each before and after which the process may die. */
  const calls: string[] = [];
  let isCounting = false;
  let isDead = false;

  async function die(): Promise<never> {
    isDead = true;
    if (death === 'killed') throw new Unavailable('The process is dead');
    return buried.promise;
  }

  const reached = (name: string, done: boolean): unknown => {
    if (isDead) return die();
    if (!isCounting) return undefined;
    if (!done) calls.push(name);
    const { diesAt } = options;
    return diesAt !== undefined && calls.length >= diesAt.call && diesAt.done === done ? die() : undefined;
  };

  async function through<T>(name: string, call: () => Promise<T>): Promise<T> {
    await reached(name, false);
    const result = await call();
    await reached(name, true);
    return result;
  }

  async function* throughEach<T>(name: string, items: AsyncIterable<T>): AsyncGenerator<T> {
    await reached(name, false);
    for await (const item of items) {
      if (isDead) await die();
      yield item;
    }
    await reached(name, true);
  }

  const { events } = stores;
  const documents = watched(stores.documents, {
    before: (method, collection) => reached(`${collection}.${method}`, false),
    after: (method, collection) => reached(`${collection}.${method}`, true),
  });
  return {
    calls: (): readonly string[] => calls,
    isDead: () => isDead,
    /** Begins to count the calls. */
    count(): void {
      isCounting = true;
    },
    kill(): void {
      isDead = true;
    },
    /** Ends the calls of a frozen process, so that the test can end. */
    bury: () => buried.reject(new Unavailable('The process is dead')),
    documents: { ...stores.documents, ...documents },
    events: changedStore(events, {
      lastEvent: () => through('lastEvent', () => events.lastEvent()),
      readAll: (all) => throughEach('readAll', events.readAll(all)),
      subscribe: (after) => throughEach('subscribe', events.subscribe(after)),
      readStream: (stream, from) => throughEach('readStream', events.readStream(stream, from)),
      consume: (group, consume, handler) =>
        events.consume(group, consume, async (event) => {
          if (isDead) await die();
          await handler(event);
          // It does not acknowledge the event either.
          if (isDead) await die();
        }),
    }),
  };
}
