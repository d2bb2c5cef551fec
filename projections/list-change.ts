import type { Recorded } from '../src/domain/events.ts';

/**
 * The last event that changed a list. Its id tells one state of the list from every other, also after a restore, when the log
 * gives positions a second time.
 */
export type ListChange = { readonly eventId: string; readonly position: string };

export const changedBy = ({ id, position }: Pick<Recorded, 'id' | 'position'>): ListChange => ({
  eventId: id,
  position,
});
