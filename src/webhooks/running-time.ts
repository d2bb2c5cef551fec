import type { BaseLogger } from 'pino';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';

type RunningTimeDocument = { readonly ms: number };

const collection: Collection<RunningTimeDocument> = { name: 'webhookRunningTime', kind: 'record', indexes: [] };
const KEY = 'all';

/** How often the time is stored. A kill loses at most this much of it. */
const TICK_MS = 15_000;
/** The most that one tick adds: a frozen process attempted nothing meanwhile. */
const MAX_TICK_MS = 2 * TICK_MS;

/**
 * Milliseconds during which at least one process delivered. Deadlines of several days use this clock, so that our own downtime never
 * counts against a receiver, and a changed wall clock does not matter (docs/decisions/webhook-deliveries.md).
 */
export type RunningTime = {
  /** Milliseconds. */
  now(): number;
  start(): Promise<void>;
  /** Stores the time that is not stored yet. */
  stop(): Promise<void>;
};

export async function openRunningTime(deps: {
  readonly documents: DocumentStore;
  readonly logger: Pick<BaseLogger, 'error'>;
  /** Monotonic milliseconds. */
  readonly monotonic?: () => number;
  readonly tickMs?: number;
}): Promise<RunningTime> {
  const { documents, logger, monotonic = () => performance.now(), tickMs = TICK_MS } = deps;
  const times = await documents.open(collection);
  /** The stored time, and when this process first saw it at that version. */
  let seen: { readonly version: number; readonly ms: number; readonly at: number } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let ticking: Promise<void> = Promise.resolve();

  const now = () => (seen === undefined ? 0 : seen.ms + Math.min(monotonic() - seen.at, MAX_TICK_MS));

  /**
   * Adds the time since this process first saw the current version of the document. With several processes the first one adds it, and the
   * others see a new version.
   */
  async function tick(): Promise<void> {
    const [ms, at] = [now(), monotonic()];
    const { isChanged, stored } = await times.update(KEY, (document, version) => {
      if (document === undefined) return { ms: 0 };
      return version === seen?.version ? { ms } : undefined;
    });
    if (stored !== undefined && stored.version !== seen?.version)
      // Another process may have added part of this interval: do not count it twice.
      seen = { version: stored.version, ms: stored.document.ms, at: isChanged ? at : monotonic() };
  }

  const safely = () =>
    tick().catch((error: unknown) => logger.error({ err: error }, 'The time spent on deliveries was not stored'));

  return {
    now,
    async start() {
      await safely();
      timer = setInterval(() => {
        ticking = ticking.then(safely);
      }, tickMs);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      await ticking;
      if (seen !== undefined) await safely();
    },
  };
}
