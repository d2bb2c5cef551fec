import pRetry from 'p-retry';
import { SerialQueue } from '../event-loop/serial-queue.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import type { Change, Documents, Stored, Updated } from './document-store.ts';

/** Twenty processes that change one document at once need about ten retries. */
const RETRIES = 40;
const PAUSES = { minTimeout: 1, factor: 1.5, maxTimeout: 50, randomize: true } as const;

/** Another writer changed the document between the read and the write. */
class Conflict extends Error {}

/** The parts of {@link Documents.update}: a read, and a compare-and-set write. */
export type CompareAndSet<D extends object> = Pick<Documents<D>, 'get' | 'insert'> & {
  /** @returns false, without writing, if the document is not at `version`, or a unique value is taken */
  readonly replace: (key: string, document: D, version: number) => Promise<boolean>;
};

/** {@link Documents.update}, the same on every engine. */
export function createUpdate<D extends object>(documents: CompareAndSet<D>): Documents<D>['update'] {
  /** Retries of one document run one after another: those of this process conflict with other processes only. */
  const retries = new SerialQueue();

  return async (key, change, lastRead) => {
    // The first attempt nearly always succeeds, so run it without the retry wrapper.
    const first = lastRead === undefined ? await documents.get(key) : lastRead.stored;
    const updated = await tryUpdate(documents, key, change, first);
    if (!(updated instanceof Conflict)) return updated;

    const again = async () => {
      const outcome = await tryUpdate(documents, key, change, await documents.get(key));
      if (outcome instanceof Conflict) throw outcome;
      return outcome;
    };
    const retry = () =>
      pRetry(again, { ...PAUSES, retries: RETRIES, shouldRetry: ({ error }) => error instanceof Conflict });
    return retries.run(key, retry).catch((error: unknown) => {
      if (!(error instanceof Conflict)) throw error;
      throw new Unavailable(`Document ${key} was changed by others during every attempt`, error);
    });
  };
}

async function tryUpdate<D extends object>(
  { insert, replace }: CompareAndSet<D>,
  key: string,
  change: Change<D>,
  stored: Stored<D> | undefined,
): Promise<Updated<D> | Conflict> {
  const version = stored?.version ?? 0;
  const document = await change(stored?.document, version);
  if (document === undefined) return { isChanged: false, stored };
  const isWritten = await (stored === undefined ? insert(key, document) : replace(key, document, version));
  return isWritten ? { isChanged: true, stored: { key, version: version + 1, document } } : new Conflict();
}
