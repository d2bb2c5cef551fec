import type { BaseLogger } from 'pino';
import type { DocumentStore } from '../document-store/document-store.ts';
import type { Heartbeats } from '../document-store/heartbeats.ts';
import type { Said } from '../read-models/read-models.ts';
import {
  idsOf,
  type ReadModelId,
  type ReadModelStateStore,
  type ReadModelStates,
  withModel,
} from '../read-models/state.ts';

/** How often what nobody needs is looked for, at most. */
const LOOK_EVERY_MS = 60_000;
/** How long after a drop it is looked whether the collection has come back: by then what was being written has been. */
const COMES_BACK_WITHIN_MS = 1_000;

type ClearingDeps = {
  readonly documents: Pick<DocumentStore, 'drop' | 'names'>;
  readonly state: Pick<ReadModelStateStore, 'readStates' | 'positions'>;
  readonly heartbeats: Heartbeats<Said>;
  readonly retireAfterMs: number;
  readonly logger: Pick<BaseLogger, 'info' | 'warn'>;
  /** The read models of this release. */
  readonly known: ReadonlySet<ReadModelId>;
  /** Those that this process looks after at the moment. */
  readonly owned: ReadonlySet<ReadModelId>;
  readonly update: (change: (states: ReadModelStates) => ReadModelStates) => Promise<ReadModelStates>;
  /** Forgets the positions of collections that are gone. */
  readonly forget: (collections: readonly string[]) => Promise<void>;
};

/** Clears away what nobody needs any more: former collections, read models of former releases (docs/decisions/read-models.md). */
export class Clearing {
  readonly #deps: ClearingDeps;
  readonly #stopping = new AbortController();
  #dropping: Promise<void> | undefined;
  #lookedAt = performance.now();
  /** When to look for collections that have come back (monotonic). */
  #sweepAt = Number.POSITIVE_INFINITY;

  constructor(deps: ClearingDeps) {
    this.#deps = deps;
  }

  async tick(states: ReadModelStates): Promise<void> {
    await this.#swapOut(states);
    await this.#disown(states);
    await this.#look();
    if (performance.now() >= this.#sweepAt) await this.#sweep();
    this.#drop(states.dropping);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#dropping;
  }

  /** Gives up swapped-out collections that no living process reads any more. */
  async #swapOut({ models }: ReadModelStates): Promise<void> {
    const swapped = [...this.#deps.owned].filter((id) => (models[id]?.leaving.length ?? 0) > 0);
    if (swapped.length === 0) return;
    const living = await this.#deps.heartbeats.living();
    for (const id of swapped) {
      const { live = '', leaving = [] } = models[id] ?? {};
      const readers = living.filter(({ said }) => said.wants.includes(id));
      const left = leaving.filter((collection) =>
        readers.every(({ said }) => said.reads.includes(live) && !said.reads.includes(collection)),
      );
      if (left.length > 0) await this.#deps.update((states) => withoutCollections(states, id, left));
    }
  }

  /**
   * Notes that nobody looks after a read model of another release whose processes are gone: commands wait for those that somebody
   * looks after. While another process can take it over, that one will.
   */
  async #disown({ models }: ReadModelStates): Promise<void> {
    const { heartbeats } = this.#deps;
    for (const id of idsOf({ models })) {
      const owner = models[id]?.owner;
      if (owner === undefined || this.#deps.known.has(id)) continue;
      if ((await heartbeats.silentFor(owner)) < heartbeats.silenceMs) continue;
      const heirs = (await heartbeats.living()).filter(({ said }) => said.projects && said.wants.includes(id));
      if (heirs.length > 0) continue;
      await this.#deps.update((states) => {
        const isStill = states.models[id]?.owner === owner;
        return isStill ? withModel(states, id, { owner: undefined }) : states;
      });
    }
  }

  /** Looks, every so often and in one process, for read models that nobody wants and collections that nobody knows. */
  async #look(): Promise<void> {
    const { heartbeats, retireAfterMs } = this.#deps;
    const elapsed = performance.now() - this.#lookedAt;
    const every = Math.min(LOOK_EVERY_MS, retireAfterMs / 10);
    if (elapsed < every) return;
    this.#lookedAt = performance.now();
    const living = await heartbeats.living();
    const projecting = living
      .filter(({ said }) => said.projects && said.kind === 'service')
      .map(({ session }) => session);
    if (projecting.sort()[0] !== heartbeats.session) return;
    // A process that was asleep has not seen anyone not wanting a read model.
    await this.#retire(living, Math.min(elapsed, 2 * every));
    this.#sweepAt = performance.now();
  }

  /** Retires the read models that no process has wanted for long. One process counts the time, by its own monotonic clock. */
  async #retire(living: Awaited<ReturnType<Heartbeats<Said>['living']>>, elapsed: number): Promise<void> {
    const { retireAfterMs, logger } = this.#deps;
    const wanted = new Set(living.flatMap(({ said }) => said.wants));
    const retired: ReadModelId[] = [];
    await this.#deps.update((states) => {
      retired.length = 0;
      return idsOf(states).reduce((next, id) => {
        const unwantedMs = next.models[id]?.unwantedMs ?? 0;
        if (wanted.has(id)) return unwantedMs === 0 ? next : withModel(next, id, { unwantedMs: undefined });
        const now = unwantedMs + elapsed;
        if (now < retireAfterMs) return withModel(next, id, { unwantedMs: now });
        retired.push(id);
        return withoutModel(next, id);
      }, states);
    });
    if (retired.length > 0)
      logger.info({ readModels: retired }, 'Retired read models that no process has wanted for long');
  }

  /**
   * Has former collections dropped again that are back. A write that was under way, or one by a process that was asleep while another
   * took over, makes a collection anew on engines that make them on writing.
   */
  async #sweep(): Promise<void> {
    this.#sweepAt = Number.POSITIVE_INFINITY;
    const { documents, state, update, logger } = this.#deps;
    const [names, { groups }] = await Promise.all([documents.names(), state.positions()]);
    const found = [...new Set([...names, ...groups.flatMap(({ collections }) => collections)])];
    // The states are read after the names: they name a collection before it is made.
    const formerIn = (states: ReadModelStates) => found.filter((name) => isFormer(states, name));
    if (formerIn((await state.readStates()).document).length === 0) return;
    const states = await update((now) => {
      const former = formerIn(now);
      return former.length === 0 ? now : { ...now, dropping: [...now.dropping, ...former] };
    });
    logger.info(
      { collections: states.dropping },
      'Former collections are back after a late write: dropping them again',
    );
  }

  /** Drops, in the background, the collections that nobody reads or writes. */
  #drop(dropping: readonly string[]): void {
    if (dropping.length === 0 || this.#deps.owned.size === 0) return;
    const { documents, forget, logger } = this.#deps;
    const { signal } = this.#stopping;
    this.#dropping ??= (async () => {
      for (const collection of dropping) await documents.drop(collection, signal);
      await forget(dropping);
      await this.#deps.update((states) => ({
        ...states,
        dropping: states.dropping.filter((collection) => !dropping.includes(collection)),
      }));
      this.#sweepAt = performance.now() + COMES_BACK_WITHIN_MS;
    })()
      .catch((error: unknown) => {
        // Another process does the rest.
        if (!signal.aborted) logger.warn({ err: error }, 'Old collections could not be dropped; retrying');
      })
      .finally(() => {
        this.#dropping = undefined;
      });
  }
}

/** Whether a collection was one of a read model's, and is no more. */
function isFormer({ models, dropping }: ReadModelStates, name: string): boolean {
  const id = idsOf({ models }).find((each) => name.startsWith(`${each}.`));
  const model = id && models[id];
  if (model === undefined) return false;
  const { live, building, leaving, generation } = model;
  const isOld = Number(name.slice(`${id}.`.length)) <= generation;
  return isOld && ![live, building, ...leaving, ...dropping].includes(name);
}

function withoutCollections(states: ReadModelStates, id: ReadModelId, left: readonly string[]): ReadModelStates {
  const { leaving = [], failure } = states.models[id] ?? {};
  const next = withModel(states, id, {
    leaving: leaving.filter((collection) => !left.includes(collection)),
    ...(failure !== undefined && left.includes(failure.collection) && { failure: undefined }),
  });
  return { ...next, dropping: [...new Set([...next.dropping, ...left])] };
}

function withoutModel({ models, dropping }: ReadModelStates, id: ReadModelId): ReadModelStates {
  const { [id]: retired, ...others } = models;
  const { live, building, leaving = [] } = retired ?? {};
  const collections = [live, building, ...leaving].filter((collection) => collection !== undefined);
  return { models: others, dropping: [...dropping, ...collections] };
}
