import type { Projection } from '../../projections/projection.ts';
import type { Documents } from '../document-store/document-store.ts';
import type { Position } from '../event-store/event-store.ts';

/** What readers may do with a read model: everything but write. */
export type ReadModel<D extends object> = Pick<Documents<D>, 'get' | 'getMany' | 'find' | 'count'>;

export type ReadModels = {
  /** The live documents of a projection; follows the swap after a rebuild, in every process. */
  collection<D extends object>(projection: Projection<D>): ReadModel<D>;
  /**
   * Waits until the read models show everything up to `position`, whichever process projects.
   * @param timeoutMs default 2,000
   * @returns false when they did not in time; nothing is lost then, they only lag
   */
  waitFor(position: Position, timeoutMs?: number): Promise<boolean>;
};
