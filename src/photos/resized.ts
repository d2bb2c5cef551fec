/** What the process that resizes a photo is told and answers: one line of JSON, then the bytes of each size one after another. */
export type Resized = {
  /** Of the largest size. */
  readonly width: number;
  readonly height: number;
  /** The length of each size in bytes, smallest first. */
  readonly lengths: readonly number[];
};

/** Why a photo cannot be taken. */
export type UnusablePhoto = 'TooManyPixels' | 'WrongShape' | 'Unreadable' | 'TooMuchMemory';

export type ResizeAnswer = Resized | { readonly unusable: UnusablePhoto };

/** Width times height. */
export const MAX_PIXELS = 50_000_000;
/** Of each side, in pixels. */
export const MIN_SIDE = 100;
/** How many times longer one side may be than the other. */
export const MAX_RATIO = 10;
