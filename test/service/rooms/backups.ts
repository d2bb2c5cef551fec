import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { jsonWith } from '../../cli/in-process.ts';
import type { Random } from '../../soak/random.ts';
import { type Environment, killNode, runNode } from '../node-process.ts';
import { temporaryDataDir } from '../service-process.ts';
import { type Change, isAcknowledged } from './change.ts';
import type { Rooms } from './room-client.ts';
import { problemsIn } from './store-check.ts';

const COMMAND = 'src/cli.js';
/** When a backup is killed, if it is: a whole one takes about a second. */
const KILLED_AFTER_MS = { from: 250, to: 900 } as const;

/**
 * Backs a store in use up, again and again, some of them interrupted by a kill, and restores each on the embedded engines.
 * What was answered before a backup began is in it.
 * @returns how many were restored, and how many of them were interrupted
 */
export async function backUpAndRestore(
  settings: Environment,
  { changes, broken }: Pick<Rooms, 'changes' | 'broken'>,
  random: Random,
  isOver: () => boolean,
): Promise<{ readonly restored: number; readonly killed: number }> {
  let [restored, killed] = [0, 0];
  do {
    const before = [...changes].filter(isAcknowledged);
    const file = join(temporaryDataDir(), 'backup.ndjson');
    const args = ['backup', file, '--json'];
    if (random.between(0, 1) === 0) {
      const at = performance.now() + random.between(KILLED_AFTER_MS.from, KILLED_AFTER_MS.to);
      if (await killNode(COMMAND, args, settings, () => performance.now() > at)) killed += 1;
    }
    const { code, stderr } = await runNode(COMMAND, args, settings);
    const isDone = code === 0 || stderr.includes('holds a complete export');
    const wrong = isDone
      ? await problemsInCopy(file, settings, [...before, ...later(changes, before)])
      : [`it ended with ${code}: ${stderr}`];
    broken.push(...wrong.map((what) => `Backup ${restored}: ${what}`));
    await rm(dirname(file), { recursive: true });
    restored += 1;
  } while (!isOver());
  return { restored, killed };
}

async function problemsInCopy(file: string, { SECRET_KEY = '' }: Environment, changes: readonly Change[]) {
  const copy: Environment = { DATA_DIR: temporaryDataDir(), SECRET_KEY, DEMO: 'false' };
  await jsonWith(copy, 'restore', file);
  const problems = await problemsIn(copy, changes);
  await rm(copy.DATA_DIR ?? '', { recursive: true });
  return problems;
}

/** All others, of which a backup may hold any. */
function later(changes: ReadonlySet<Change>, before: readonly Change[]): readonly Change[] {
  const others = changes.difference(new Set(before));
  return [...others].map((change) => ({ ...change, answeredAt: Number.POSITIVE_INFINITY }));
}
