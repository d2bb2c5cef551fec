import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { killNode, type NodeProcess, startNode } from '../service/node-process.ts';
import type { Store } from './store.ts';

/** How long a process may take to be ready: longer than any freeze or start on a busy machine. */
const READY_WITHIN_MS = 60_000;

export const ALL_ROLES = 'api,projector,webhooks,scheduler';

type Start = {
  readonly roles?: string;
  /** The folder of another release. */
  readonly release?: string;
};

/** The processes on one store, and a load balancer in front of those that answer requests. */
export type Fleet = {
  /** The processes that the load balancer uses. */
  readonly asked: readonly NodeProcess[];
  /** The processes among them that have reported ready and must answer. Others may be down without the balancer knowing. */
  readonly serving: readonly NodeProcess[];
  /** All processes that answer requests, including frozen ones. */
  readonly answering: ReadonlySet<NodeProcess>;
  /** Problems with processes: ended by themselves or with an error, or never ready. */
  readonly broken: readonly string[];
  /** How many processes have been killed. */
  readonly killed: () => number;
  /** Starts a process. Once it is ready it serves, if it has the role. */
  start(options?: Start): Promise<NodeProcess>;
  /** Ends a process. A load balancer stops using a process that reports stopping; a killed one only once it notices. */
  end(process: NodeProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Starts a process and kills it so many milliseconds later, ready or not. */
  startAndKill(roles: string, afterMs: number): Promise<void>;
  /** Suspends a process. A load balancer that notices stops using it until it reports ready again. */
  freeze(process: NodeProcess, forMs: number, isNoticed: boolean): Promise<void>;
  /** Runs an action during which no process can answer; requests continue nevertheless. */
  whileNoneCanAnswer(something: () => Promise<void>): Promise<void>;
  /** From now on a process counts as ready even if this read model fails. */
  tolerate(readModel: string | undefined): void;
  /** Waits until every process that answers requests is ready. */
  ready(): Promise<void>;
  /** Kills all running processes. @returns the output of each */
  stop(): Promise<readonly string[]>;
};

export function createFleet(store: Pick<Store, 'settings'>): Fleet {
  const settings = { LOG_LEVEL: 'warn', WEBHOOKS_ALLOW_PRIVATE: 'true', DRAIN: 'PT0.5S', ...store.settings };
  const started: NodeProcess[] = [];
  const running = new Set<NodeProcess>();
  const answering = new Set<NodeProcess>();
  const asked: NodeProcess[] = [];
  const serving: NodeProcess[] = [];
  const broken: string[] = [];
  let tolerated: string | undefined;
  let killed = 0;

  const leave = (list: NodeProcess[], process: NodeProcess): void => {
    const at = list.indexOf(process);
    if (at >= 0) list.splice(at, 1);
  };
  const withdraw = (process: NodeProcess): void => {
    leave(serving, process);
    leave(asked, process);
  };

  async function isReady({ url }: NodeProcess): Promise<boolean> {
    const response = await fetch(`${url}/readyz`).catch(() => undefined);
    if (response === undefined) return false;
    const said: Readyz = JSON.parse(await response.text());
    if (response.ok) return true;
    // A reason other than the tolerated one appears in another field.
    const { status: _, eventsBehind, eventStore, documentStore, readModels = {} } = said;
    const failing = Object.entries(readModels);
    return (
      tolerated !== undefined &&
      [eventStore, documentStore].every((store) => store === 'ok') &&
      eventsBehind === 0 &&
      failing.length > 0 &&
      failing.every(([name, state]) => name === tolerated && state.startsWith('failing'))
    );
  }

  /** @returns whether it became ready before it was ended */
  async function untilReady(process: NodeProcess): Promise<boolean> {
    const deadline = performance.now() + READY_WITHIN_MS;
    while (running.has(process)) {
      if (await isReady(process)) return true;
      if (performance.now() > deadline) {
        broken.push(`${process.url} was not ready within ${READY_WITHIN_MS} ms`);
        return false;
      }
      await delay(20);
    }
    return false;
  }

  async function serve(process: NodeProcess): Promise<void> {
    if (!answering.has(process) || !(await untilReady(process))) return;
    for (const list of [asked, serving]) if (!list.includes(process)) list.push(process);
  }

  return {
    asked,
    serving,
    answering,
    broken,
    killed: () => killed,
    async start({ roles = ALL_ROLES, release } = {}) {
      const answers = roles.split(',').includes('api');
      // A process that answers no requests reports only that it runs.
      const isUp = answers ? '/healthz' : /Venue Booking Service/;
      const process = await startNode('src/main.js', isUp, { ...settings, ROLES: roles }, release);
      started.push(process);
      running.add(process);
      if (answers) answering.add(process);
      process.ended.then((code) => {
        withdraw(process);
        answering.delete(process);
        if (running.delete(process)) broken.push(`A process ended by itself with ${code}: ${process.output.stderr}`);
      });
      await serve(process);
      return process;
    },
    async end(process, signal) {
      running.delete(process);
      if (signal === 'SIGTERM') withdraw(process);
      else killed += 1;
      const code = await process.end(signal);
      if (signal === 'SIGTERM' && code !== 0)
        broken.push(`A process ended with ${code}: ${process.output.stdout}${process.output.stderr}`);
    },
    async startAndKill(roles, afterMs) {
      const at = performance.now() + afterMs;
      const env = { ...settings, ROLES: roles, PORT: String(await freePort()) };
      if (await killNode('src/main.js', [], env, () => performance.now() > at)) killed += 1;
      else broken.push('A process ended by itself while it was starting');
    },
    async freeze(frozen, forMs, isNoticed) {
      if (isNoticed) withdraw(frozen);
      else leave(serving, frozen);
      process.kill(frozen.pid, 'SIGSTOP');
      await delay(forMs);
      process.kill(frozen.pid, 'SIGCONT');
      await serve(frozen);
    },
    async whileNoneCanAnswer(something) {
      const doubted = serving.splice(0);
      await something();
      await Promise.all(doubted.map(serve));
    },
    tolerate(readModel) {
      tolerated = readModel;
    },
    async ready() {
      for (const process of answering) if (running.has(process)) await untilReady(process);
    },
    async stop() {
      running.clear();
      await Promise.all(started.map((process) => process.end('SIGKILL')));
      return started.map(({ url, pid, output }) => `${pid} ${url}\n${output.stdout}\n${output.stderr}`);
    },
  };
}

type Readyz = {
  readonly status: string;
  readonly eventsBehind?: number | null;
  readonly eventStore?: string;
  readonly documentStore?: string;
  readonly readModels?: Readonly<Record<string, string>>;
};
