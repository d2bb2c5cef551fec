import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../soak/random.ts';
import type { Member } from './member.ts';

/** Disturbs a process for a while. @param note is told what is being done */
type Fault = (member: Member, random: Random, note: (what: string) => void) => Promise<void>;

const kill: Fault = async (member, random, note) => {
  note('kill');
  await member.kill();
  await delay(random.between(0, 500));
  await member.restart();
  note('started');
};

/** Mostly for less than the 4 s after which others take the roles of a silent process. */
const freeze: Fault = async ({ pid }, random, note) => {
  const forMs = random.pick([random.between(10, 300), random.between(300, 1_500), random.between(300, 1_500), 5_000]);
  note(`freeze for ${forMs} ms`);
  process.kill(pid, 'SIGSTOP');
  await delay(forMs);
  process.kill(pid, 'SIGCONT');
};

const cut: Fault = async ({ proxies }, random, note) => {
  note('cut the connections of');
  random.pick(proxies).cut();
};

const stall: Fault = async ({ proxies }, random, note) => {
  const forMs = random.pick([random.between(10, 300), random.between(300, 1_500), 3_000]);
  note(`stall a server for ${forMs} ms for`);
  const proxy = random.pick(proxies);
  proxy.stop();
  await delay(forMs);
  proxy.go();
};

/** Lets bytes pass for a moment, again and again. */
const slow: Fault = async ({ proxies }, random, note) => {
  const forMs = random.between(300, 2_000);
  const stillMs = random.between(5, 40);
  note(`slow a server down for ${forMs} ms for`);
  const proxy = random.pick(proxies);
  for (const until = performance.now() + forMs; performance.now() < until; ) {
    proxy.stop();
    await delay(stillMs);
    proxy.go();
    await delay(2);
  }
};

const OF_PROCESS: readonly Fault[] = [kill, freeze, freeze];
const OF_NETWORK: readonly Fault[] = [cut, stall, slow, slow];

export const faultsOf = ({ proxies }: Member): readonly Fault[] =>
  proxies.length === 0 ? OF_PROCESS : [...OF_PROCESS, ...OF_NETWORK];
