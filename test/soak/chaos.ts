import { setTimeout as delay } from 'node:timers/promises';
import { ALL_ROLES } from './fleet.ts';
import { type Member, type Outcome, playRound, type RoundOptions, type Scene } from './round.ts';

/** The possible distributions of roles over processes. */
const SPLITS: readonly (readonly string[])[] = [
  [ALL_ROLES, ALL_ROLES, ALL_ROLES],
  ['api', 'api', 'projector', 'projector', 'webhooks', 'scheduler'],
  ['api,projector', 'api,projector', 'api,webhooks,scheduler', 'webhooks'],
  ['api', 'api,scheduler', 'projector', 'webhooks', 'webhooks'],
];

/** Processes of all roles are killed, frozen and restarted under load. */
export const chaos = (options: RoundOptions): Promise<Outcome> =>
  playRound(options, {
    processes: options.random.pick(SPLITS),
    disturb: (scene) => disturb(scene, { atOnce: 2, forMs: options.forMs }),
  });

/** @param options.atOnce how many processes are disturbed at the same time */
export async function disturb(
  scene: Scene,
  { atOnce, forMs }: { readonly atOnce: number; readonly forMs: number },
): Promise<void> {
  const until = performance.now() + forMs;
  const { random, members } = scene;
  async function one(): Promise<void> {
    while (performance.now() < until) {
      await delay(random.between(0, 1_500));
      const idle = members.filter(({ busy }) => !busy);
      const answering = idle.filter(answers);
      // At least one process must remain to answer.
      const candidates = answering.length > 1 ? idle : idle.filter((member) => !answers(member));
      if (candidates.length === 0) continue;
      const member = random.pick(candidates);
      member.busy = true;
      await random
        .pick(ACTIONS)(scene, member)
        .finally(() => {
          member.busy = false;
        });
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one));
}

export const answers = ({ roles }: Member): boolean => roles.split(',').includes('api');

type Action = (scene: Scene, member: Member) => Promise<void>;

/** After a kill, an operator or a process supervisor takes a moment to restart it. */
const MAX_AWAY_MS = 2_000;

export const kill: Action = async ({ fleet, random, progress }, member) => {
  const awayMs = random.between(0, MAX_AWAY_MS);
  progress(`kill -9 ${member.roles}, down for ${awayMs} ms`);
  await fleet.end(member.process, 'SIGKILL');
  await delay(awayMs);
  member.process = await fleet.start(member);
};

const restart: Action = async ({ fleet, progress }, member) => {
  progress(`restart ${member.roles}`);
  await fleet.end(member.process, 'SIGTERM');
  member.process = await fleet.start(member);
};

const freeze: Action = async ({ fleet, random, progress }, member) => {
  const frozenMs = random.between(2_000, 6_000);
  // Most load balancers notice within seconds. Earlier requests are answered once the process continues, with current data.
  const isNoticed = random.between(1, 3) > 1;
  progress(`freeze ${member.roles} for ${frozenMs} ms${isNoticed ? '' : ', unnoticed'}`);
  await fleet.freeze(member.process, frozenMs, isNoticed);
};

const ACTIONS: readonly Action[] = [kill, kill, freeze, restart];
