import type { Commands } from '../commands/commands.ts';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { streamOf } from '../domain/streams.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import { openLeases } from '../leases/lease.ts';
import type { Clock } from '../runtime/clock.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { type SeedDeps, seedDemoData } from './demo-data.ts';
import { type Demo, readDemoFile, writeDemoFile } from './demo-file.ts';

type DemoDeps = Pick<SeedDeps, 'users' | 'photos' | 'clock'> & {
  /** Creates commands that use the given clock and wait up to `readModelWaitMs` for the read models. */
  readonly commandsAt: (clock: Clock, readModelWaitMs: number) => Promise<Commands>;
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly heartbeats: Heartbeats<object>;
  readonly dataDir: string;
  readonly publicUrl: string;
  /** Whether every read model is built within `timeoutMs`. */
  readonly readable: (timeoutMs: number) => Promise<boolean>;
};

/** How long building the read models may take, and then waiting for them after a command. */
const READABLE_WITHIN_MS = 120_000;
const SHOWN_WITHIN_MS = 60_000;

/** Whether the demo data is complete. Absent if seeding has not started. */
type Seeding = { readonly done: boolean };
const SEEDING: Collection<Seeding> = { name: 'demo', kind: 'record', indexes: [] };
const KEY = 'demo';

/** How long the process that creates the demo data may be silent before another process starts over. */
const LEASE_MS = 10_000;
/** How often processes that are waiting for the demo data check for it. */
const POLL_INTERVAL_MS = 50;

/**
 * Returns the demo data, and creates it if the store is empty or a first start was interrupted. Of several processes that start at the
 * same time, one creates it. @returns undefined if the store holds other data
 */
export async function ensureDemoData(deps: DemoDeps): Promise<Demo | undefined> {
  const { events, documents, clock } = deps;
  const seedings = await documents.open(SEEDING);

  async function isMissing(): Promise<boolean> {
    const isEmpty = await isEmptyLog(events);
    // Read after the log: this record is written before the first event.
    const seeding = await seedings.get(KEY);
    return seeding === undefined ? isEmpty : !seeding.document.done;
  }

  /** The demo data of an earlier start. Without its record, the store holds other data, and a file may be of a former store. */
  const earlier = async () => ((await seedings.get(KEY)) === undefined ? undefined : readDemoFile(deps));

  if (!(await isMissing())) return earlier();
  const { heartbeats } = deps;
  const leases = await openLeases({ documents, heartbeats, clock, collection: 'demo-leases', durationMs: LEASE_MS });
  const lease = await leases.acquire(KEY, { pollMs: POLL_INTERVAL_MS });
  try {
    if (!(await isMissing())) return earlier();
    if (!(await deps.readable(READABLE_WITHIN_MS)))
      throw new Unavailable(
        `The demo data could not be created: the read models were not built within ${READABLE_WITHIN_MS / 1_000} s`,
      );
    await seedings.insert(KEY, { done: false });
    const at = (time: Clock) => deps.commandsAt(time, SHOWN_WITHIN_MS);
    const demo = writeDemoFile(deps, await seedDemoData({ ...deps, at }));
    await seedings.update(KEY, () => ({ done: true }));
    return demo;
  } finally {
    await lease.release();
  }
}

/** Whether the log holds only its own id. */
async function isEmptyLog(events: EventStore): Promise<boolean> {
  for await (const { stream } of events.readAll({ limit: 2 })) if (stream !== streamOf.log) return false;
  return true;
}
