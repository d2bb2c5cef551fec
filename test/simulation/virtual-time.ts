import { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';

/** The machine that a process of the simulation runs on. */
export type Machine = {
  /** How far its clock is ahead, in milliseconds. */
  clockErrorMs: number;
  /** A dead one has no timers, and gets no answers. */
  isDead: boolean;
};

/** The machine whose code is running; none for clients and checks. */
export const machine = new AsyncLocalStorage<Machine | undefined>();

type Task = {
  readonly at: number;
  /** Tasks of one moment run in the order in which they were made. */
  readonly order: number;
  readonly run: () => void;
  readonly owner: Machine | undefined;
  /** Whether other machines may wait for it, too: the jobs of all processes share wake-ups (src/event-loop/rounds.ts). */
  readonly isShared: boolean;
  isCancelled: boolean;
};

const RealDate = Date;
const realImmediate = setImmediate;

/** What has to be done, the next first. */
const agenda: Task[] = [];

const isBefore = (a: Task, b: Task): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

function note(task: Task): void {
  const later = agenda.findLastIndex((each) => isBefore(each, task)) + 1;
  agenda.splice(later, 0, task);
}

/** What comes in the next turn of the event loop. */
const immediates: Task[] = [];
let now = 0;
let order = 0;
/** What the clocks on the walls showed at 0. */
let epoch = RealDate.parse('2027-01-01T00:00:00Z');

/** Virtual milliseconds since the start, by the monotonic clock of every machine. */
export const virtualNow = (): number => now;

/** The clock on the wall of a machine that is right. */
export const wallOf = (): number => epoch + now;
/** Sets the clocks of all machines. */
export function setWall(to: number): void {
  epoch = to - now;
}
const wallNow = (): number => wallOf() + (machine.getStore()?.clockErrorMs ?? 0);

function plan(run: () => void, delayMs: number, isShared: boolean): Task {
  const at = now + Math.max(1, Math.ceil(Number.isFinite(delayMs) ? delayMs : 1));
  const task = { at, order: order++, run, owner: machine.getStore(), isShared, isCancelled: false };
  note(task);
  return task;
}

/** A timer as Node returns it. */
class Timer {
  readonly #start: () => Task;
  #task: Task;

  constructor(start: () => Task) {
    this.#start = start;
    this.#task = start();
  }
  ref = () => this;
  unref = () => this;
  hasRef = () => true;
  close = () => this.cancel();
  refresh() {
    this.cancel();
    this.#task = this.#start();
    return this;
  }
  /** The next run of an interval. */
  again(): void {
    if (!this.#task.isCancelled) this.#task = this.#start();
  }
  cancel() {
    this.#task.isCancelled = true;
    return this;
  }
  [Symbol.dispose]() {
    this.cancel();
  }
}

type Callback = (...args: readonly unknown[]) => unknown;

const startTimeout = (callback: Callback, delayMs = 1, ...args: readonly unknown[]) =>
  new Timer(() => plan(() => callback(...args), delayMs, true));

function startInterval(callback: Callback, delayMs = 1, ...args: readonly unknown[]): Timer {
  const run = () => {
    timer.again();
    callback(...args);
  };
  const timer: Timer = new Timer(() => plan(run, delayMs, false));
  return timer;
}

function startImmediate(callback: Callback, ...args: readonly unknown[]): Timer {
  return new Timer(() => {
    const run = () => callback(...args);
    const task = { at: now, order: order++, run, owner: machine.getStore(), isShared: true, isCancelled: false };
    immediates.push(task);
    return task;
  });
}

const cancel = (timer: unknown): void => void (timer instanceof Timer && timer.cancel());

type Waiting = { readonly signal?: AbortSignal };

/** `setTimeout` of node:timers/promises. */
async function sleep<T>(delayMs = 1, value?: T, { signal }: Waiting = {}): Promise<T | undefined> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
  const timer = new Timer(() => plan(() => resolve(value), delayMs, false));
  const abort = () => {
    timer.cancel();
    reject(new DOMException('The operation was aborted', 'AbortError'));
  };
  signal?.addEventListener('abort', abort);
  return promise.finally(() => signal?.removeEventListener('abort', abort));
}

const nextTurn = <T>(value?: T): Promise<T | undefined> =>
  new Promise((resolve) => startImmediate(() => resolve(value)));

function abortLater(delayMs: number): AbortSignal {
  const controller = new AbortController();
  startTimeout(() => controller.abort(new DOMException('The operation timed out', 'TimeoutError')), delayMs);
  return controller.signal;
}

/** Replaces the clocks and timers of this Node process, before the service is imported. There is no way back. */
export function installVirtualTime(): void {
  Object.assign(globalThis, {
    setTimeout: startTimeout,
    setInterval: startInterval,
    setImmediate: startImmediate,
    clearTimeout: cancel,
    clearInterval: cancel,
    clearImmediate: cancel,
    Date: new Proxy(RealDate, {
      construct: (target, args, newTarget) =>
        Reflect.construct(target, args.length === 0 ? [wallNow()] : args, newTarget),
      get: (target, key) => (key === 'now' ? wallNow : Reflect.get(target, key)),
    }),
  });
  performance.now = virtualNow;
  AbortSignal.timeout = abortLater;
  Object.assign(timersPromises, { setTimeout: sleep, setImmediate: nextTurn });
  syncBuiltinESMExports();
}

/** Lets all that can go on now go on: microtasks, and what Node's threads have done. */
const settled = (): Promise<void> => new Promise((resolve) => realImmediate(resolve));

function run({ run: callback, owner, isShared, isCancelled }: Task): void {
  // What a shared one does for a dead machine reaches nothing outside of it.
  if (isCancelled || (owner?.isDead === true && !isShared)) return;
  machine.run(owner, callback);
}

/** Lets time pass until a moment, or until it is over. Nothing takes time but waiting. */
export async function runUntil(end: number, isOver = (): boolean => false): Promise<void> {
  for (;;) {
    await settled();
    if (isOver()) return;
    const next = immediates.shift();
    if (next !== undefined) {
      run(next);
      continue;
    }
    const [first] = agenda;
    if (first === undefined || first.at > end) break;
    agenda.shift();
    now = Math.max(now, first.at);
    run(first);
  }
  now = Math.max(now, end);
}

/** Waits for work that also needs real time: how much virtual time passes meanwhile does not follow from the seed. */
export async function finished<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = () => {
    isDone = true;
  };
  work.then(done, done);
  while (!isDone) await runUntil(now + 1, () => isDone);
  return work;
}
