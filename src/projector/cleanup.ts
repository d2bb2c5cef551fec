import type { BaseLogger } from 'pino';
import type { DocumentStoreOperations } from '../document-store/document-store.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import { type Catalogue, type CatalogueEvent, entriesOf } from '../read-models/catalogue.ts';
import type { NodeStatus } from '../read-models/node-status.ts';

/** The shortest interval between two cleanups. */
const CHECK_EVERY_MS = 60_000;
/** How long after a drop to check whether a late write has recreated the collection. */
const LATE_WRITE_MS = 1_000;
/** The pause after a failed drop. It doubles with each failure in a row. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 600_000;

type CleanupDeps = {
  readonly documents: Pick<DocumentStoreOperations, 'drop' | 'names'>;
  readonly heartbeats: Heartbeats<NodeStatus>;
  readonly retireAfterMs: number;
  /** How long a collection is kept up to date after it was swapped out. */
  readonly graceMs: number;
  readonly logger: Pick<BaseLogger, 'info' | 'warn'>;
  readonly apply: (...events: readonly CatalogueEvent[]) => Promise<Catalogue>;
};

/** Drops collections that were swapped out, and read models of former releases (docs/decisions/read-models.md). */
export class CollectionCleanup {
  readonly #deps: CleanupDeps;
  readonly #stopping = new AbortController();
  /** When this process first saw each collection retiring (monotonic). */
  readonly #retiringSince = new Map<string, number>();
  #dropping: Promise<void> | undefined;
  #failuresInARow = 0;
  /** When the next drop may begin (monotonic). */
  #dropAt = Number.NEGATIVE_INFINITY;
  #lookedAt = performance.now();
  /** When to check for recreated collections (monotonic). */
  #sweepAt = Number.POSITIVE_INFINITY;

  constructor(deps: CleanupDeps) {
    this.#deps = deps;
  }

  /** @param drops whether this process keeps read models up to date, and so drops others */
  async tick(catalogue: Catalogue, drops: boolean): Promise<void> {
    await this.#endGrace(entriesOf(catalogue).flatMap(([, { retiring }]) => retiring));
    await this.#retire();
    if (performance.now() >= this.#sweepAt) await this.#sweep();
    if (drops) this.#drop(catalogue.dropping);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#dropping;
  }

  async #endGrace(retiring: readonly string[]): Promise<void> {
    const now = performance.now();
    for (const name of this.#retiringSince.keys()) if (!retiring.includes(name)) this.#retiringSince.delete(name);
    for (const name of retiring) if (!this.#retiringSince.has(name)) this.#retiringSince.set(name, now);
    const collections = retiring.filter((name) => now - (this.#retiringSince.get(name) ?? now) >= this.#deps.graceMs);
    if (collections.length > 0) await this.#deps.apply({ type: 'GraceEnded', collections });
  }

  /** Adds up how long read models have been unused, in one process and by its monotonic clock. */
  async #retire(): Promise<void> {
    const { heartbeats, retireAfterMs, apply } = this.#deps;
    const elapsed = performance.now() - this.#lookedAt;
    const every = Math.min(CHECK_EVERY_MS, retireAfterMs / 10);
    if (elapsed < every) return;
    this.#lookedAt = performance.now();
    const living = await heartbeats.living();
    const services = living.filter(({ status }) => status.projects && status.kind === 'service');
    if (services.map(({ session }) => session).sort()[0] !== heartbeats.session) return;
    // A suspended process has not seen which read models the others used.
    const elapsedMs = Math.min(elapsed, 2 * every);
    await apply({ type: 'Wanted', ids: living.flatMap(({ status }) => status.wants), elapsedMs, retireAfterMs });
    this.#sweepAt = performance.now();
  }

  /**
   * Drops recreated collections again. On engines that create a collection on the first write, a write in flight during the drop
   * recreates it, as does a late write by a process that was suspended.
   */
  async #sweep(): Promise<void> {
    this.#sweepAt = Number.POSITIVE_INFINITY;
    const { documents, apply, logger } = this.#deps;
    // Read the catalogue after the names, because it lists a collection before that is created.
    const collections = await documents.names();
    const { dropping } = await apply({ type: 'Found', collections });
    if (dropping.length > 0) logger.info({ collections: dropping }, 'Dropping unused collections');
  }

  /** Drops collections in the background. One that fails does not keep the others. */
  #drop(collections: readonly string[]): void {
    if (collections.length === 0 || performance.now() < this.#dropAt) return;
    this.#dropping ??= this.#dropEach(collections).finally(() => {
      this.#dropping = undefined;
    });
  }

  async #dropEach(collections: readonly string[]): Promise<void> {
    const { documents, apply, logger } = this.#deps;
    const { signal } = this.#stopping;
    const dropped: string[] = [];
    let failure: { readonly collection: string; readonly err: unknown } | undefined;
    for (const collection of collections) {
      try {
        await documents.drop(collection, signal);
        dropped.push(collection);
      } catch (err) {
        // After a stop, another process drops the rest.
        if (signal.aborted) return;
        failure = { collection, err };
      }
    }
    try {
      if (dropped.length > 0) await apply({ type: 'Dropped', collections: dropped });
      this.#sweepAt = performance.now() + LATE_WRITE_MS;
    } catch (err) {
      failure = { collection: dropped.join(', '), err };
    }
    if (failure === undefined) {
      this.#failuresInARow = 0;
      return;
    }
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#failuresInARow, LONGEST_PAUSE_MS);
    this.#failuresInARow += 1;
    this.#dropAt = performance.now() + pauseMs;
    logger.warn({ ...failure, pauseMs }, 'An old collection could not be dropped; trying again');
  }
}
