import { setTimeout as delay } from 'node:timers/promises';
import { createRandom, type Random } from '../soak/random.ts';
import type { Member } from './member.ts';
import { type Caller, type Decision, isVisible, type Player, Recorder, type SpaceDay, Unexpected } from './recorder.ts';
import type { Operation } from './space-day.ts';

export type Scene = {
  readonly members: readonly Member[];
  readonly community: Player;
  readonly brands: readonly Player[];
  /** Opens the messages of the console. */
  readonly secretKey: Buffer;
};

/** Clients of one space-day, and how many calls each of them makes. */
const [CLIENTS, CALLS] = [5, 8];
const LONGEST_REST_MS = 40;
/** How long a client waits for an answer. The longest is longer than the lease of a process that is frozen. */
const PATIENCE_MS = [500, 2_000, 2_000, 6_000] as const;
/** For a read once nothing is disturbed any more. */
const SETTLED_WITHIN_MS = 10_000;
/** Few, so that events overlap, and some outside of the window. */
const HOURS = [9, 10, 11, 12, 14, 15, 17, 21, 23] as const;
const STEPS = [
  ...(['request', 'request', 'request', 'decide', 'decide', 'decide', 'decide'] as const),
  ...(['availability', 'availability', 'list', 'booking'] as const),
] as const;
const DECISIONS: readonly Decision[] = ['approve', 'approve', 'decline', 'cancel'];

/** Clients request, decide and read on one space-day, each call through any process. */
export async function playHistory(scene: Scene, spaceDay: SpaceDay, seed: number): Promise<Recorder> {
  const recorder = new Recorder(spaceDay, scene.secretKey);
  const clients = Array.from({ length: CLIENTS }, async (_, index) => {
    const client = new Client(scene, recorder, index, createRandom(seed * CLIENTS + index));
    for (let call = 0; call < CALLS; call += 1) await client.step(call);
  });
  await Promise.all(clients);
  return recorder;
}

class Client {
  readonly #scene: Scene;
  readonly #recorder: Recorder;
  readonly #name: string;
  readonly #brand: Player;
  readonly #random: Random;

  constructor(scene: Scene, recorder: Recorder, index: number, random: Random) {
    const brand = scene.brands[index % scene.brands.length];
    if (brand === undefined) throw new Error('No brand');
    this.#scene = scene;
    this.#recorder = recorder;
    this.#name = `client ${index}`;
    this.#brand = brand;
    this.#random = random;
  }

  async step(call: number): Promise<void> {
    const random = this.#random;
    await delay(random.between(0, LONGEST_REST_MS));
    const player = random.pick([this.#scene.community, this.#brand]);
    const known = [...this.#recorder.ids.keys()].filter((each) => isVisible(each, player));
    const name = known.length === 0 ? undefined : random.pick(known);
    const step = random.pick(STEPS);
    if (step === 'availability') await this.#recorder.availability(this.#as(player));
    else if (step === 'request' || name === undefined) await this.#request(call);
    else if (step === 'list') await this.#recorder.list(this.#as(player));
    else if (step === 'booking') await this.#recorder.booking(this.#as(player), name);
    else await this.#decide(player, name);
  }

  /** Requests an hour, or repeats a request that got no answer. */
  async #request(call: number): Promise<void> {
    const unanswered = this.#recorder.operations
      .filter((each) => each.do === 'request')
      .findLast(({ booking, answer }) => answer === undefined && isVisible(booking, this.#brand));
    const isRepeated = unanswered !== undefined && this.#random.between(0, 1) === 0;
    const hour = isRepeated ? unanswered.hour : this.#random.pick(HOURS);
    const name = isRepeated ? unanswered.booking : `${this.#brand.name} ${this.#name} ${call}`;
    await this.#recorder.request(this.#as(this.#brand), name, hour);
  }

  async #decide(player: Player, name: string): Promise<void> {
    const decision = this.#random.pick(DECISIONS);
    // Brands do not approve.
    const decider = decision === 'approve' ? this.#scene.community : player;
    await this.#recorder.decide(this.#as(decider), decision, name);
  }

  /** Calls for an account, through any process. */
  #as = (player: Player): Caller => ({
    name: this.#name,
    player,
    member: this.#random.pick(this.#scene.members),
    patienceMs: this.#random.pick(PATIENCE_MS),
  });
}

/** Reads everything once the read models have caught up. @returns all that was seen */
export async function readSettled(
  { community, members }: Scene,
  recorder: Recorder,
  random: Random,
): Promise<readonly Operation[]> {
  const before = recorder.operations.length;
  const caller = { name: 'end', player: community, member: random.pick(members), patienceMs: SETTLED_WITHIN_MS };
  await recorder.list(caller);
  await recorder.availability(caller);
  const settled = recorder.operations.slice(before).map((each) => ({ ...each, isSettled: true as const }));
  if (settled.at(-1)?.do !== 'availability') throw new Unexpected('No answer, although nothing is disturbed');
  return [...recorder.operations.slice(0, before), ...settled];
}
