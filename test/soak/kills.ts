import { setTimeout as delay } from 'node:timers/promises';
import { answers, kill } from './chaos.ts';
import { ALL_ROLES } from './fleet.ts';
import { lost } from './invariants.ts';
import { type Outcome, playRound, type RoundOptions, type Scene } from './round.ts';

/** How many in a row, on one store. */
const KILLS = Number(process.env.KILLS ?? 200);
/** Processes that are down, or return, at the same time. */
const AT_ONCE = 2;
const MAX_PAUSE_MS = 1_000;
/** About as long as a start takes. */
const MAX_START_MS = 2_000;

/** Processes are killed at random moments, again and again. Each that returns lists everything that was acknowledged before. */
export const kills = (options: RoundOptions): Promise<Outcome> =>
  playRound(options, {
    processes: [ALL_ROLES, ALL_ROLES, 'api,projector', 'webhooks,scheduler'],
    async disturb(scene) {
      async function killer(): Promise<void> {
        while (scene.fleet.killed() < KILLS) await killOne(scene);
      }
      await Promise.all(Array.from({ length: AT_ONCE }, killer));
    },
  });

async function killOne(scene: Scene): Promise<void> {
  const { random, members, fleet, market, load, breaks } = scene;
  await delay(random.between(0, MAX_PAUSE_MS));
  const member = random.pick(members.filter(({ busy }) => !busy));
  member.busy = true;
  const acknowledged = [...load.acknowledged];
  if (random.between(1, 3) === 1) await fleet.startAndKill(member.roles, random.between(0, MAX_START_MS));
  await kill(scene, member);
  if (answers(member)) for (const each of await lost(member.process, market.brandKey, acknowledged)) breaks(each);
  member.busy = false;
}
