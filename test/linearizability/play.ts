import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../soak/random.ts';
import type { Member } from './fleet.ts';
import { type Decision, isVisible, type Player, Recorder, type SpaceDay } from './recorder.ts';
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
/** The longest is longer than the lease of a process that is frozen. */
const PATIENCE_MS = [500, 2_000, 2_000, 6_000] as const;
/** Few, so that events overlap, and some outside of the window. */
const HOURS = [9, 10, 11, 12, 14, 15, 17, 21, 23] as const;

/** For a read once nothing is disturbed any more. */
const SETTLED_WITHIN_MS = 10_000;

type Step = 'request' | 'decide' | 'availability' | 'list' | 'booking';
const STEPS: readonly Step[] = [
  ...(['request', 'request', 'request', 'decide', 'decide', 'decide', 'decide'] as const),
  ...(['availability', 'availability', 'list', 'booking'] as const),
];
const DECISIONS: readonly Decision[] = ['approve', 'approve', 'decline', 'cancel'];

/** Clients request, decide and read on one space-day, each call through any process. */
export async function playHistory(scene: Scene, spaceDay: SpaceDay, random: Random): Promise<Recorder> {
  const recorder = new Recorder(spaceDay, scene.secretKey);
  await Promise.all(Array.from({ length: CLIENTS }, (_, index) => playClient(scene, recorder, index, random)));
  return recorder;
}

async function playClient(scene: Scene, recorder: Recorder, index: number, random: Random): Promise<void> {
  const brand = scene.brands[index % scene.brands.length];
  if (brand === undefined) throw new Error('No brand');
  for (let call = 0; call < CALLS; call += 1) {
    await delay(random.between(0, LONGEST_REST_MS));
    const player = random.pick([scene.community, brand]);
    const caller = {
      name: `client ${index}`,
      player,
      member: random.pick(scene.members),
      patienceMs: random.pick(PATIENCE_MS),
    };
    const known = [...recorder.ids.keys()].filter((name) => isVisible(name, player));
    const step = random.pick(STEPS);
    if (step === 'request' || (known.length === 0 && step !== 'availability')) {
      const repeated = unansweredOf(recorder, brand);
      if (repeated !== undefined && random.between(0, 1) === 0)
        await recorder.request({ ...caller, player: brand }, repeated.booking, repeated.hour);
      else await recorder.request({ ...caller, player: brand }, `${brand.name}-${index}-${call}`, random.pick(HOURS));
    } else if (step === 'availability') await recorder.availability(caller);
    else if (step === 'list') await recorder.list(caller);
    else if (step === 'booking') await recorder.booking(caller, random.pick(known));
    else {
      // Brands do not approve.
      const decision = random.pick(DECISIONS);
      const decider = decision === 'approve' ? scene.community : player;
      await recorder.decide({ ...caller, player: decider }, decision, random.pick(known));
    }
  }
}

/** A request of a brand that got no answer. It may be repeated. */
const unansweredOf = ({ operations }: Recorder, { name }: Player) =>
  operations
    .filter((each) => each.do === 'request')
    .findLast(({ booking, answer }) => answer === undefined && booking.startsWith(name));

/** Reads everything once the read models have caught up. */
export async function readSettled(
  { community, members }: Scene,
  recorder: Recorder,
  random: Random,
): Promise<readonly Operation[]> {
  const before = recorder.operations.length;
  const caller = { name: 'end', player: community, member: random.pick(members), patienceMs: SETTLED_WITHIN_MS };
  await recorder.list(caller);
  await recorder.availability(caller);
  return [
    ...recorder.operations.slice(0, before),
    ...recorder.operations.slice(before).map((each) => ({ ...each, isSettled: true as const })),
  ];
}
