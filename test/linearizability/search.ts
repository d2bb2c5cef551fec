import { expect } from 'vitest';
import { recordProof } from '../proof/proof.ts';
import type { Environment } from '../service/node-process.ts';
import { createRandom } from '../soak/random.ts';
import { violationsIn } from './check.ts';
import type { Fleet } from './fleet.ts';
import { type House, spaceDayOf, termsIn } from './house.ts';
import { playHistory, readSettled } from './play.ts';
import type { Recorder } from './recorder.ts';
import { openScene } from './scene.ts';
import { asTest, shortest } from './shortest.ts';
import { type Operation, spaceDays } from './space-day.ts';

/** On a pair of engines. */
const HISTORIES = Number(process.env.HISTORIES ?? 50);
const SEED = Number(process.env.HISTORIES_SEED ?? 1 + Math.floor(Math.random() * 2 ** 31));
const PROCESSES = 8;
/** Histories of different space-days that are played at the same time. */
const AT_ONCE = 5;

/** Plays histories under faults, and checks each. @throws the first violation, in its shortest form */
export async function search(engines: string, servers: Environment): Promise<void> {
  const random = createRandom(SEED);
  const { house, fleet, scene } = await openScene(servers, { processes: PROCESSES, spaceDays: HISTORIES });
  const rules = spaceDays((spaceDay) => termsIn(house, spaceDay));
  const check = (operations: readonly Operation[]) => {
    const [violation] = violationsIn(rules, operations);
    if (violation !== undefined) throw new Error(report(house, fleet, shortest(rules, violation.operations)));
  };
  const seen: Recorder[] = [];
  let next = 0;
  const play = async () => {
    while (next < HISTORIES) {
      const index = next++;
      const recorder = await playHistory(scene, spaceDayOf(house, index), SEED + index).catch((error: unknown) => {
        throw new Error(`Seed ${SEED}, history ${index}`, { cause: error });
      });
      seen.push(recorder);
      check(recorder.operations);
    }
  };
  await fleet.disturbDuring(random, () => Promise.all(Array.from({ length: AT_ONCE }, play)));
  await fleet.settle();
  for (const recorder of seen) check(await readSettled(scene, recorder, random));
  expect(fleet.broken).toEqual([]);
  const observations = seen.flatMap(({ operations }) => operations).length;
  record(engines, `${HISTORIES} histories, ${observations} observations, ${fleet.faults.length} faults`);
}

function record(engines: string, tried: string): void {
  console.log(`${engines}: ${tried}, seed ${SEED}`);
  recordProof({
    search: `Histories of many clients on ${engines}: \`npm run test:system -- test/linearizability\``,
    promise: 'what clients of eight processes see of a space-day can have happened one after another',
    tried,
    seed: SEED,
  });
}

/** What cannot have happened, and what was done to the processes meanwhile. */
function report(house: House, { faults }: Fleet, operations: readonly Operation[]): string {
  const [first, last] = [operations[0]?.calledAt ?? 0, operations.at(-1)?.calledAt ?? 0];
  const during = faults.filter(({ at }) => at > first - 5_000 && at <= last + 1_000);
  const done = during.map(({ at, what }) => `${Math.round(at - first)} ms: ${what}`);
  const spaceDay = operations[0]?.spaceDay ?? '';
  return `Seed ${SEED}, ${spaceDay}. The shortest part that cannot have happened:\n\n${asTest(operations, termsIn(house, spaceDay))}\n\nFaults:\n${done.join('\n')}`;
}
