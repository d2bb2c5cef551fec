import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { openLeases } from '../document-store/lease.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { type SeedDeps, seedDemoData } from './demo-data.ts';
import { type Demo, readDemoFile, writeDemoFile } from './demo-file.ts';

type DemoDeps = SeedDeps & {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly dataDir: string;
  readonly publicUrl: string;
};

/** Whether the demo data has been made. Absent: not begun. */
type Making = { readonly done: boolean };
const MAKING: Collection<Making> = { name: 'demo', kind: 'record', indexes: [] };
const KEY = 'demo';

/** How long nobody may hear of the process that makes the demo data before another one begins anew. */
const LEASE_MS = 10_000;
/** How often those who wait for the demo data look. */
const LOOK_EVERY_MS = 50;

/**
 * The demo data: made on an empty store, by one process of those that start on it at the same moment, and made anew when a
 * first start was cut off. @returns undefined when the store holds something else
 */
export async function ensureDemoData(deps: DemoDeps): Promise<Demo | undefined> {
  const { events, documents, clock } = deps;
  const makings = await documents.open(MAKING);

  async function isMissing(): Promise<boolean> {
    const isEmpty = await isEmptyLog(events);
    // Read after the log: whoever makes the data says so before its first event.
    const making = await makings.get(KEY);
    return making === undefined ? isEmpty : !making.document.done;
  }

  if (!(await isMissing())) return readDemoFile(deps);
  const leases = await openLeases({ documents, collection: 'demo-leases', durationMs: LEASE_MS, clock });
  const lease = await leases.acquire(KEY, { pollMs: LOOK_EVERY_MS });
  try {
    if (!(await isMissing())) return readDemoFile(deps);
    await makings.insert(KEY, { done: false });
    const demo = writeDemoFile(deps, await seedDemoData(deps));
    const making = await makings.get(KEY);
    if (making !== undefined) await makings.replace(KEY, { done: true }, making.version);
    return demo;
  } finally {
    await lease.release();
  }
}

/** Whether nothing was ever appended. */
async function isEmptyLog(events: EventStore): Promise<boolean> {
  for await (const _ of events.readAll({ limit: 1 })) return false;
  return true;
}
