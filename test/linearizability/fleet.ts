import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { type Proxy as ServerProxy, startProxyTo } from '../proxy.ts';
import { type Environment, type NodeProcess, startNode } from '../service/node-process.ts';
import type { Random } from '../soak/random.ts';

/** A place for a process, which another one takes when it is killed. */
export type Member = {
  readonly name: string;
  /** Between the process and its servers. */
  readonly proxies: readonly ServerProxy[];
  process: NodeProcess;
  isDisturbed: boolean;
};

export type Fleet = {
  readonly members: readonly Member[];
  /** What was done to them, by `performance.now()`. */
  readonly faults: readonly { readonly at: number; readonly what: string }[];
  /** Processes that ended by themselves. */
  readonly broken: readonly string[];
  /** Disturbs processes until it is stopped. */
  disturb(random: Random): { stop(): Promise<void> };
  /** Waits until every process has caught up with the log. */
  settle(): Promise<void>;
  stop(): Promise<void>;
};

const SERVERS = ['EVENTSTORE_URL', 'MONGODB_URL'] as const;
/** So many processes may be disturbed at the same time. */
const DISTURBED_AT_ONCE = 3;
const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS] = [100, 700];
const SETTLES_WITHIN_MS = 60_000;

/** Starts processes on one store, each behind proxies of its own to the servers in the settings. */
export async function startFleet(size: number, settings: Environment): Promise<Fleet> {
  const firstPort = String(await freePort());
  const publicUrl = `http://127.0.0.1:${firstPort}`;
  const broken: string[] = [];
  const faults: { at: number; what: string }[] = [];
  let isStopped = false;

  const starts = new Map<Member, () => Promise<NodeProcess>>();
  async function start(env: Environment): Promise<NodeProcess> {
    const process = await startNode('src/main.js', '/readyz', env);
    process.ended.then((code) => {
      if (!isStopped && code !== null) broken.push(`A process ended by itself with ${code}: ${process.output.stderr}`);
    });
    return process;
  }

  const members = await Promise.all(
    Array.from({ length: size }, async (_, index): Promise<Member> => {
      const servers = SERVERS.filter((name) => settings[name] !== undefined);
      const proxies = await Promise.all(servers.map((name) => startProxyTo(settings[name] ?? '')));
      const urls = Object.fromEntries(servers.map((name, at) => [name, proxies[at]?.url ?? '']));
      const env = { ...settings, ...urls, PUBLIC_URL: publicUrl };
      const process = await start(index === 0 ? { ...env, PORT: firstPort } : env);
      const member = { name: `P${index}`, proxies, process, isDisturbed: false };
      starts.set(member, () => start(env));
      return member;
    }),
  );

  async function disturbOne(random: Random, member: Member): Promise<void> {
    const fault = random.pick(member.proxies.length === 0 ? PROCESS_FAULTS : [...PROCESS_FAULTS, ...NETWORK_FAULTS]);
    member.isDisturbed = true;
    const note = (what: string) => void faults.push({ at: performance.now(), what: `${what} ${member.name}` });
    try {
      await fault({
        member,
        random,
        note,
        start: starts.get(member) ?? (() => Promise.reject(new Error('No member'))),
      });
    } catch (error) {
      broken.push(String(error));
    }
    member.isDisturbed = false;
  }

  return {
    members,
    faults,
    broken,
    disturb(random) {
      let isOver = false;
      const running = new Set<Promise<void>>();
      async function loop(): Promise<void> {
        while (!isOver) {
          await delay(random.between(SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS));
          const quiet = members.filter(({ isDisturbed }) => !isDisturbed);
          if (isOver || members.length - quiet.length >= DISTURBED_AT_ONCE) continue;
          const one = disturbOne(random, random.pick(quiet)).finally(() => running.delete(one));
          running.add(one);
        }
      }
      const looping = loop();
      return {
        async stop() {
          isOver = true;
          await looping;
          await Promise.all(running);
        },
      };
    },
    async settle() {
      const deadline = performance.now() + SETTLES_WITHIN_MS;
      for (const { process, name } of members)
        while (!(await hasCaughtUp(process.url))) {
          if (performance.now() > deadline) throw new Error(`${name} has not caught up with the log`);
          await delay(50);
        }
    },
    async stop() {
      isStopped = true;
      for (const { proxies, process } of members) {
        await process.end('SIGKILL');
        for (const proxy of proxies) proxy.close();
      }
    },
  };
}

const hasCaughtUp = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    async (response) => response.ok && ((await response.json()) as { eventsBehind?: number }).eventsBehind === 0,
    () => false,
  );

type Disturbance = {
  readonly member: Member;
  readonly random: Random;
  readonly note: (what: string) => void;
  /** Starts another process in the place of one that has ended. */
  readonly start: () => Promise<NodeProcess>;
};
type Fault = (disturbance: Disturbance) => Promise<void>;

const kill: Fault = async ({ member, random, note, start }) => {
  note('kill');
  await member.process.end('SIGKILL');
  await delay(random.between(0, 500));
  member.process = await start();
  note('started');
};

/** Mostly for less than the 4 s after which others take the roles of a silent process. */
const freeze: Fault = async ({ member, random, note }) => {
  const forMs = random.pick([random.between(10, 300), random.between(300, 1_500), random.between(300, 1_500), 5_000]);
  note(`freeze for ${forMs} ms`);
  process.kill(member.process.pid, 'SIGSTOP');
  await delay(forMs);
  process.kill(member.process.pid, 'SIGCONT');
};

const cut: Fault = async ({ member, random, note }) => {
  note('cut the connections of');
  random.pick(member.proxies).cut();
};

const stall: Fault = async ({ member, random, note }) => {
  const forMs = random.pick([random.between(10, 300), random.between(300, 1_500), 3_000]);
  note(`stall a server for ${forMs} ms for`);
  const proxy = random.pick(member.proxies);
  proxy.stop();
  await delay(forMs);
  proxy.go();
};

/** Lets bytes pass for a moment, again and again. */
const slow: Fault = async ({ member, random, note }) => {
  const forMs = random.between(300, 2_000);
  const stillMs = random.between(5, 40);
  note(`slow a server down for ${forMs} ms for`);
  const proxy = random.pick(member.proxies);
  for (const until = performance.now() + forMs; performance.now() < until; ) {
    proxy.stop();
    await delay(stillMs);
    proxy.go();
    await delay(2);
  }
};

const PROCESS_FAULTS: readonly Fault[] = [kill, freeze, freeze];
const NETWORK_FAULTS: readonly Fault[] = [cut, stall, slow, slow];
