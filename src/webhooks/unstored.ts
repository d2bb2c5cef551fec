import type { Stored } from '../document-store/document-store.ts';
import type { Deliveries, Outcome } from './deliveries.ts';
import type { Attempt, DeliveryDocument } from './delivery.ts';

/**
 * A delivery that may be sent before it is stored (docs/decisions/webhook-deliveries.md). It is stored once, with its result, unless
 * somebody decides before that it is not to wait for it.
 */
export type Unstored = {
  /** Not stored yet. */
  readonly delivery: Stored<DeliveryDocument>;
  readonly sequence: string;
  /** The ids of the earlier events of its sequence. */
  readonly earlier: readonly string[];
  /** Resolves once the store has it, as pending or with its result. Rejects if it could not be stored. */
  readonly stored: Promise<void>;
  /**
   * Stores it as pending, unless its result is about to be stored.
   * @returns whether that added it: false if the store had it already
   */
  keep(): Promise<boolean>;
  /** The store has it already, so that nothing has to be done. */
  abandon(): void;
  /** From now on nothing but its result is stored. Call it before {@link record}. */
  answered(): void;
  /** Stores its attempts and their outcome. */
  record(attempts: readonly Attempt[], outcome: Outcome): Promise<void>;
};

export function createUnstored(
  deliveries: Deliveries,
  delivery: Stored<DeliveryDocument>,
  known: Pick<Unstored, 'earlier'>,
): Unstored {
  const { promise: stored, resolve, reject } = Promise.withResolvers<void>();
  // Whoever waits for it hears of it. Nobody may.
  stored.catch(() => {});
  let keeping: Promise<Stored<DeliveryDocument> | undefined> | undefined;
  let isDone = false;

  return {
    delivery,
    sequence: delivery.document.sequence,
    ...known,
    stored,
    async keep() {
      if (isDone) return false;
      if (keeping === undefined) {
        keeping = deliveries.insert(delivery);
        keeping.then(() => resolve(), reject);
      }
      return (await keeping) !== undefined;
    },
    abandon() {
      isDone = true;
      resolve();
    },
    answered() {
      isDone = true;
    },
    async record(attempts, outcome) {
      try {
        const kept = await keeping?.catch(() => undefined);
        await deliveries.record(kept ?? delivery, attempts, outcome);
        resolve();
      } catch (error) {
        reject(error);
        throw error;
      }
    },
  };
}
