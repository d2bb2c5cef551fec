import { setTimeout as delay } from 'node:timers/promises';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { isProcessAlive, PID_NAMESPACE } from '../runtime/process-liveness.ts';
import { type SeedDeps, seedDemoData } from './demo-data.ts';
import { type Demo, readDemoFile, writeDemoFile } from './demo-file.ts';

type DemoDeps = SeedDeps & {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly dataDir: string;
  readonly publicUrl: string;
};

/** Who makes the demo data, or made it. */
type Making = { readonly pidNamespace: string; readonly pid: number; readonly done: boolean };
const MAKING: Collection<Making> = { name: 'demo', kind: 'record', indexes: [] };
const KEY = 'demo';

/**
 * How often those who wait for the demo data look, and how long they wait at most: a process may be out of sight, or its number
 * another's by now.
 */
const LOOK_EVERY_MS = 50;
const GIVE_UP_AFTER_MS = 60_000;

/**
 * The demo data: made on an empty store, by one process of those that start on it at the same moment, and made anew when a
 * first start was cut off. @returns undefined when the store holds something else
 */
export async function ensureDemoData(deps: DemoDeps): Promise<Demo | undefined> {
  const makings = await deps.documents.open(MAKING);
  const mine: Making = { pidNamespace: PID_NAMESPACE, pid: process.pid, done: false };
  const giveUpAt = performance.now() + GIVE_UP_AFTER_MS;

  async function make(version: number): Promise<Demo> {
    const demo = writeDemoFile(deps, await seedDemoData(deps));
    await makings.replace(KEY, { ...mine, done: true }, version);
    return demo;
  }

  for (;;) {
    const there = await makings.get(KEY);
    if (there === undefined) {
      if (await isEmptyLog(deps.events)) {
        if (await makings.insert(KEY, mine)) return make(1);
      } else if ((await makings.get(KEY)) === undefined) return readDemoFile(deps);
      continue;
    }
    const { pidNamespace, pid, done: made } = there.document;
    if (made) return readDemoFile(deps);
    const isGone = pidNamespace === PID_NAMESPACE && (pid === process.pid || !isProcessAlive(pid));
    if ((isGone || performance.now() > giveUpAt) && (await makings.replace(KEY, mine, there.version)))
      return make(there.version + 1);
    await delay(LOOK_EVERY_MS);
  }
}

/** Whether nothing was ever appended. */
async function isEmptyLog(events: EventStore): Promise<boolean> {
  for await (const _ of events.readAll({ limit: 1 })) return false;
  return true;
}
