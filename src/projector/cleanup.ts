import type { BaseLogger } from 'pino';
import { isGeneration, type OperatedDocumentStore } from '../document-store/document-store.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import type { Lease, Leases } from '../leases/lease.ts';
import type { CatalogueEvent, CatalogueStore } from '../read-models/generations.ts';
import { CLEANUP_LEASE } from '../read-models/leases.ts';
import type { NodeStatus } from '../read-models/node-status.ts';

/** The shortest interval between two cleanups. */
const CHECK_EVERY_MS = 60_000;
/** How soon to look again after a drop: a write in flight may have recreated a collection. */
const LATE_WRITE_MS = 1_000;

/** Drops generations that the catalogue does not have, and removes from it those that no process has wanted for long. */
export function createCleanup(deps: {
  readonly documents: Pick<OperatedDocumentStore, 'drop' | 'names'>;
  readonly heartbeats: Pick<Heartbeats<NodeStatus>, 'living'>;
  readonly leases: Pick<Leases, 'tryAcquire'>;
  readonly retireAfterMs: number;
  readonly logger: Pick<BaseLogger, 'info' | 'warn'>;
  readonly read: CatalogueStore['read'];
  readonly apply: (event: CatalogueEvent) => Promise<unknown>;
}) {
  const { documents, heartbeats, leases, retireAfterMs, logger, read, apply } = deps;
  const every = Math.min(CHECK_EVERY_MS, retireAfterMs / 10);
  let countedAt = performance.now();
  let dropAt = performance.now();
  /** The version of the catalogue at the last drop. */
  let droppedAt = -1;
  let dropping: Promise<void> | undefined;
  let lease: Lease | undefined;

  /** Adds up how long generations have been unused: in one process, although one of each release projects, and by its monotonic clock. */
  async function count(): Promise<void> {
    const elapsed = performance.now() - countedAt;
    if (elapsed < every) return;
    countedAt = performance.now();
    if (lease?.isHeld() !== true) lease = await leases.tryAcquire(CLEANUP_LEASE);
    if (lease === undefined) return;
    const living = await heartbeats.living();
    // A suspended process has not seen which generations the others used.
    const elapsedMs = Math.min(elapsed, 2 * every);
    await apply({ type: 'Wanted', names: living.map(({ status }) => status.wants), elapsedMs, retireAfterMs });
  }

  /** One that cannot be dropped does not keep the others. */
  async function drop(): Promise<void> {
    dropAt = performance.now() + CHECK_EVERY_MS;
    // Read the catalogue after the names, because it lists a generation before that is created.
    const present = (await documents.names()).filter(isGeneration);
    const { generations } = (await read()).document;
    for (const name of present.filter((each) => !Object.hasOwn(generations, each))) {
      try {
        await documents.drop(name);
        logger.info({ generation: name }, 'Dropped unused read models');
        dropAt = performance.now() + LATE_WRITE_MS;
      } catch (err) {
        logger.warn({ err, generation: name }, 'Old read models could not be dropped; trying again in a minute');
      }
    }
  }

  return {
    /** @param version of the catalogue */
    async tick(version: number): Promise<void> {
      await count();
      if (version === droppedAt && performance.now() < dropAt) return;
      droppedAt = version;
      dropping ??= drop().finally(() => {
        dropping = undefined;
      });
      dropping.catch(() => {});
    },
    async stop(): Promise<void> {
      await dropping?.catch(() => {});
      await lease?.release();
    },
  };
}
