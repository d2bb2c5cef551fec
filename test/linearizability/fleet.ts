import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import type { Environment } from '../service/node-process.ts';
import type { Random } from '../soak/random.ts';
import { faultsOf } from './faults.ts';
import { Member } from './member.ts';

/** So many processes may be disturbed at the same time. */
const DISTURBED_AT_ONCE = 3;
const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS] = [100, 700];
const SETTLES_WITHIN_MS = 60_000;

/** Processes on one store, and what is done to them. */
export class Fleet {
  readonly members: readonly Member[];
  /** By `performance.now()`. */
  readonly faults: { readonly at: number; readonly what: string }[] = [];
  /** What went wrong with processes besides the faults. */
  readonly broken: string[];

  private constructor(members: readonly Member[], broken: string[]) {
    this.members = members;
    this.broken = broken;
  }

  static async start(size: number, settings: Environment): Promise<Fleet> {
    const ports = await Promise.all(Array.from({ length: size }, freePort));
    const broken: string[] = [];
    // Users sign in through the first one.
    const shared = { ...settings, PUBLIC_URL: `http://127.0.0.1:${ports[0]}` };
    const members = await Promise.all(
      ports.map((port, index) =>
        Member.start({ name: `P${index}`, port, settings: shared }, (what) => void broken.push(what)),
      ),
    );
    return new Fleet(members, broken);
  }

  /** Disturbs processes while `work` lasts. */
  async disturbDuring<R>(random: Random, work: () => Promise<R>): Promise<R> {
    let isOver = false;
    const running = new Set<Promise<void>>();
    const disturbing = (async () => {
      while (!isOver) {
        await delay(random.between(SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS));
        const quiet = this.members.filter(({ isDisturbed }) => !isDisturbed);
        if (isOver || this.members.length - quiet.length >= DISTURBED_AT_ONCE) continue;
        const fault = this.#disturb(random.pick(quiet), random).finally(() => running.delete(fault));
        running.add(fault);
      }
    })();
    try {
      return await work();
    } finally {
      isOver = true;
      await disturbing;
      await Promise.all(running);
    }
  }

  async #disturb(member: Member, random: Random): Promise<void> {
    const note = (what: string) => void this.faults.push({ at: performance.now(), what: `${what} ${member.name}` });
    member.isDisturbed = true;
    try {
      await random.pick(faultsOf(member))(member, random, note);
    } catch (error) {
      this.broken.push(String(error));
    }
    member.isDisturbed = false;
  }

  /** Waits until every process has caught up with the log. */
  async settle(): Promise<void> {
    const deadline = performance.now() + SETTLES_WITHIN_MS;
    for (const member of this.members)
      while (!(await member.hasCaughtUp())) {
        if (performance.now() > deadline) throw new Error(`${member.name} has not caught up with the log`);
        await delay(50);
      }
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()));
  }
}
