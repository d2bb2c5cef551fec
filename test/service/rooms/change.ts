/** A room, by its id, or the house. */
export type Place = number | 'house';

/** What a client wants to change. Until it is answered, it may have been done or not. */
export type Change = {
  readonly calledAt: number;
  /** `Infinity` without an answer. */
  answeredAt: number;
  readonly place: Place;
  /** `described`: the room; `told`: what a photo shows. */
  readonly what: 'described' | 'told' | 'added' | 'removed';
  /** Of a text, a number or words that no other change has; of a photo, its name. */
  readonly mark: string;
};

export const isAcknowledged = ({ answeredAt }: Change): boolean => answeredAt !== Number.POSITIVE_INFINITY;
