import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { checkClosedTimes } from '../closed-times.ts';
import { inDays } from '../in-days.ts';
import { runNode } from '../service/node-process.ts';
import { disturb } from './chaos.ts';
import { ALL_ROLES } from './fleet.ts';
import { type Market, openMarket } from './market.ts';
import { type Outcome, playRound, type RoundOptions, type Scene } from './round.ts';

/** Hours are closed, taken by own events, changed, reopened and booked at the same time, while processes of the service and of the operator are killed. */
export const closures = (options: RoundOptions): Promise<Outcome> =>
  playRound(options, {
    processes: [ALL_ROLES, 'api,scheduler', 'api,projector'],
    async disturb(scene) {
      // Bookings of a market of its own may be refused.
      const house = await openMarket(options.store);
      const until = performance.now() + options.forMs;
      const seen = { added: 0, refused: 0, killed: 0, changed: 0, ended: 0, booked: 0, taken: 0 };
      const ids: string[] = [];
      const meanwhile = async (act: () => Promise<void>) => {
        while (performance.now() < until) await act();
      };
      await Promise.all([
        disturb(scene, { atOnce: 1, forMs: options.forMs }),
        meanwhile(() => addOne(scene, house, ids, seen)),
        meanwhile(() => addOne(scene, house, ids, seen)),
        meanwhile(() => changeOne(scene, ids, seen)),
        meanwhile(() => endOne(scene, ids, seen)),
        meanwhile(() => bookOne(scene, house, seen)),
        meanwhile(() => bookOne(scene, house, seen)),
      ]);
      options.progress(
        Object.entries(seen)
          .map(([what, count]) => `${count} ${what}`)
          .join(', '),
      );
      await expectSound(scene);
    },
  });

/** How long the scheduler may take to finish what dead processes began. */
const FINISHED_WITHIN_MS = 60_000;
const FIRST_DAY = 40;
const DAYS = 14;
const KILLED_AFTER = 'some days of a closure are done, others not';
const REFUSED = /SlotUnavailable|was ended while it was being made/;
const NOT_CHANGED =
  /SlotUnavailable|was ended while it was being made|still being|has ended|It was changed|one of its dates|none of these days|no date from today/;

type Seen = {
  added: number;
  refused: number;
  killed: number;
  changed: number;
  ended: number;
  booked: number;
  taken: number;
};

/** Runs the command line, which is killed in the middle of its work one time in three. */
async function operate({ store, random }: Scene, seen: Seen, args: readonly string[]) {
  const fault = join(
    store.folder,
    `fault-${seen.added + seen.refused + seen.killed + seen.changed + seen.ended}-${random.between(1, 1e6)}`,
  );
  if (random.between(1, 3) === 1) await writeFile(fault, `${KILLED_AFTER}|process`);
  const ended = await runNode('src/cli.js', [...args, '--json'], { ...store.settings, FAULT_POINT: fault });
  if (ended.signal === 'SIGKILL') seen.killed += 1;
  return ended;
}

async function addOne(scene: Scene, { communityId, spaces }: Market, ids: string[], seen: Seen): Promise<void> {
  const { random } = scene;
  const [first, start] = [random.between(0, DAYS - 1), random.between(0, 21)];
  const until = random.between(start + 1, Math.min(24, start + 4));
  const { code, signal, stdout, stderr } = await operate(scene, seen, [
    ...['closure', 'add', '--community', String(communityId), '--hours', `${start}-${until}`],
    ...['--from', inDays(FIRST_DAY + first), '--to', inDays(FIRST_DAY + random.between(first, DAYS - 1))],
    ...(random.between(1, 3) > 1 ? ['--own-event', '--title', 'Choir'] : []),
    ...(random.between(1, 2) === 1 ? ['--space', String(random.pick(spaces))] : []),
  ]);
  if (signal === 'SIGKILL') return;
  if (code === 0) {
    seen.added += 1;
    ids.push(JSON.parse(stdout).closureId);
  } else if (REFUSED.test(stderr)) seen.refused += 1;
  else scene.breaks(`closure add: ${code} ${stdout}${stderr}`);
}

/** Changes the hours of one, on all dates or on one, or leaves a date out. */
async function changeOne(scene: Scene, ids: string[], seen: Seen): Promise<void> {
  const { random } = scene;
  await delay(random.between(0, 1_000));
  if (ids.length === 0) return;
  const id = random.pick(ids);
  const start = random.between(0, 21);
  const date = ['--date', inDays(FIRST_DAY + random.between(0, DAYS - 1))];
  const change = ['closure', 'change', id, '--hours', `${start}-${random.between(start + 1, Math.min(24, start + 4))}`];
  const args = random.pick([change, [...change, ...date], ['closure', 'leave-out', id, ...date]]);
  const { code, signal, stdout, stderr } = await operate(scene, seen, args);
  if (signal === 'SIGKILL') return;
  if (code === 0) {
    seen.changed += 1;
    ids.push(JSON.parse(stdout).closureId);
  } else if (NOT_CHANGED.test(stderr)) seen.refused += 1;
  else scene.breaks(`${args.join(' ')}: ${code} ${stdout}${stderr}`);
}

async function endOne(scene: Scene, ids: string[], seen: Seen): Promise<void> {
  await delay(scene.random.between(0, 2_000));
  const [id] = ids.splice(scene.random.between(0, Math.max(0, ids.length - 1)), 1);
  if (id === undefined) return;
  const { code, signal, stdout, stderr } = await operate(scene, seen, ['closure', 'end', id]);
  if (code === 0) seen.ended += 1;
  else if (signal !== 'SIGKILL' && !/It was changed/.test(stderr))
    scene.breaks(`closure end ${id}: ${code} ${stdout}${stderr}`);
}

async function bookOne({ fleet, random, breaks }: Scene, { brandKey, spaces }: Market, seen: Seen): Promise<void> {
  await delay(random.between(0, 60));
  const [process] = fleet.serving.toSorted(() => random.between(-1, 1));
  if (process === undefined) return;
  const wanted = { spaceId: random.pick(spaces), startTime: inDays(FIRST_DAY + random.between(0, DAYS - 1)) };
  const response = await fetch(`${process.url}/api/v1/bookings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${brandKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...wanted, startHour: random.between(0, 22) }),
  }).catch(() => undefined);
  const text = await response?.text().catch(() => undefined);
  if (response?.status === 201) seen.booked += 1;
  else if (response?.status === 422) seen.taken += 1;
  // A process that was killed or frozen meanwhile serves no longer.
  else if (response !== undefined && response.status < 500)
    breaks(`A booking of closed hours: ${response.status} ${text}`);
}

/** No overlap and no closing after the end, ever; and once the scheduler has had its time, nothing is half done. */
async function expectSound({ store, progress, breaks }: Scene): Promise<void> {
  const began = performance.now();
  for (;;) {
    const { wrong, halfDone } = await store.onLog(checkClosedTimes);
    const isOver = wrong.length > 0 || halfDone.length === 0 || performance.now() - began > FINISHED_WITHIN_MS;
    if (!isOver) {
      await delay(500);
      continue;
    }
    for (const each of [...wrong, ...halfDone.map((one) => `Half done: ${one}`)]) breaks(each);
    progress(`closed times are complete after ${((performance.now() - began) / 1_000).toFixed(1)} s`);
    return;
  }
}
