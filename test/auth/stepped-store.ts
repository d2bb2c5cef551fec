import { createHash } from 'node:crypto';
import type { Collection, Documents, Stored } from '../../src/document-store/document-store.ts';

/** Documents as text, by collection and key. */
export type Contents = Map<string, Map<string, { readonly version: number; readonly text: string }>>;

export const copyOf = (contents: Contents): Contents =>
  new Map([...contents].map(([name, documents]) => [name, new Map(documents)]));

/** What a store holds, except for random ids, which differ in each run. */
export const textOf = (contents: Contents): string =>
  withoutIds(JSON.stringify([...contents].map(([name, documents]) => [name, [...documents].sort()])));

const withoutIds = (text: string): string => text.replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, '');

/** Waits for the turn of its process, and takes what the process then sees. */
export type Step = <Result>(call: () => Result) => Promise<Result>;

/** A store in memory. Each read and each compare-and-set is a step of the process that makes it. */
export function openStepped(contents: Contents, step: Step) {
  return {
    purge: async () => true,
    async open<D extends object>({ name }: Collection<D>): Promise<Documents<D>> {
      const stored = contents.getOrInsertComputed(name, () => new Map());
      const read = (key: string): Stored<D> | undefined => {
        const one = stored.get(key);
        return one && { key, version: one.version, document: JSON.parse(one.text) };
      };
      function write(key: string, document: D, before: number): boolean {
        if ((stored.get(key)?.version ?? 0) !== before) return false;
        stored.set(key, { version: before + 1, text: JSON.stringify(document) });
        return true;
      }
      return {
        get: (key) => step(() => read(key)),
        getMany: (keys) => step(() => keys.flatMap((key) => read(key) ?? [])),
        async *find({ where = {} }) {
          const wanted = Object.entries(where);
          const all = await step(() => [...stored.keys()].flatMap((key) => read(key) ?? []));
          for (const one of all) {
            const fields = new Map(Object.entries(one.document));
            if (wanted.every(([field, value]) => fields.get(field) === value)) yield one;
          }
        },
        async update(key, change, lastRead) {
          for (let before = lastRead?.stored; ; before = undefined) {
            before ??= await step(() => read(key));
            const version = before?.version ?? 0;
            const document = await change(before?.document, version);
            if (document === undefined) return { isChanged: false, stored: before };
            if (await step(() => write(key, document, version)))
              return { isChanged: true, stored: { key, version: version + 1, document } };
          }
        },
        insert: (key, document) => step(() => write(key, document, 0)),
        delete: (key, version) =>
          step(() => (version === undefined || read(key)?.version === version) && stored.delete(key)),
        pages: notUsed,
        count: notUsed,
        groups: notUsed,
        project: notUsed,
        projected: notUsed,
      };
    },
  };
}

function notUsed(): never {
  throw new Error('Not part of this store');
}

/** A process whose steps are made one by one. */
class Process {
  /** All that it has seen. What it does next follows from this. */
  seen = '';
  steps = 0;
  isDone = false;
  #next = Promise.withResolvers<void>();
  #arrived = Promise.withResolvers<void>();

  constructor(work: (step: Step) => Promise<unknown>) {
    const step: Step = async (call) => {
      const turn = this.#next.promise;
      this.#arrived.resolve();
      await turn;
      const result = call();
      const text = `${this.seen}${withoutIds(JSON.stringify(result) ?? '')}`;
      this.seen = createHash('sha1').update(text).digest('base64');
      return result;
    };
    void work(step).then(() => {
      this.isDone = true;
      this.#arrived.resolve();
    });
  }

  /** Resolves once it waits for its first step. */
  get ready(): Promise<void> {
    return this.#arrived.promise;
  }

  /** Makes its next step, and what it does up to the one after. */
  advance(): Promise<void> {
    const next = this.#next;
    this.steps += 1;
    this.#next = Promise.withResolvers();
    this.#arrived = Promise.withResolvers();
    next.resolve();
    return this.#arrived.promise;
  }
}

/** A moment in which each process has made some of its steps. */
export type Moment = { readonly contents: Contents; readonly isOver: boolean };

/**
 * Runs processes on one store, in every order of their steps. That a process dies is one of these orders: the others make all of their
 * steps before its next one.
 * @param check called at each moment that differs from all others
 * @returns how many moments there were
 */
export async function inEveryOrder(deps: {
  readonly contents: Contents;
  readonly processes: readonly ((contents: Contents, step: Step) => Promise<unknown>)[];
  /** How often a process is interrupted by another one while it could go on. */
  readonly interruptions: number;
  /** Steps of each process; processes may make each other start over again and again. */
  readonly mostSteps: number;
  readonly check: (moment: Moment) => Promise<void>;
}): Promise<number> {
  const { contents: before, processes: works, interruptions, mostSteps, check } = deps;
  /** The interruptions that were left when a moment was seen. */
  const known = new Map<string, number>();
  const orders: (readonly number[])[] = [[]];
  for (let order = orders.pop(); order !== undefined; order = orders.pop()) {
    const contents = copyOf(before);
    const processes = works.map((work) => new Process((step) => work(contents, step)));
    await Promise.all(processes.map(({ ready }) => ready));
    const made: number[] = [];
    let left = interruptions;
    const canGoOn = (index: number) => processes[index]?.isDone === false && (processes[index]?.steps ?? 0) < mostSteps;
    async function advance(index: number): Promise<void> {
      const last = made.at(-1);
      if (last !== undefined && last !== index && canGoOn(last)) left -= 1;
      made.push(index);
      await processes[index]?.advance();
    }
    for (const index of order) await advance(index);
    for (;;) {
      const last = made.at(-1) ?? 0;
      const moment = JSON.stringify([textOf(contents), processes.map(({ seen, isDone }) => [seen, isDone])]);
      const key = createHash('sha1')
        .update(`${moment}${interruptions === Infinity ? '' : last}`)
        .digest('base64');
      if ((known.get(key) ?? -1) >= left) break;
      known.set(key, left);
      await check({ contents, isOver: processes.every(({ isDone }) => isDone) });
      const able = [...processes.keys()].filter(canGoOn).sort((a, b) => Number(b === last) - Number(a === last));
      const [first, ...others] = able;
      if (first === undefined) break;
      if (!canGoOn(last) || left > 0) orders.push(...others.map((index) => [...made, index]));
      await advance(first);
    }
  }
  return known.size;
}
