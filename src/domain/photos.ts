import { isRefusal, type Refusal, refuse, refuseField, refuseFor } from './decision.ts';
import { keysOf } from './keys-of.ts';
import { PHOTO_ALT, wrongText } from './limits.ts';
import type { PersonalText } from './personal-text.ts';
import { picked } from './picked.ts';

/** A photo of a room or a house. */
export type Photo = StoredPhoto & {
  /** What it shows, for people who do not see it. Absent: its community has not said. */
  readonly alt?: string;
};

export type StoredPhoto = {
  /** SHA-256 of the bytes that were uploaded, in hex. */
  readonly photo: string;
  /** Of its largest size, in pixels. */
  readonly width: number;
  readonly height: number;
};

/** How long the longer side of each size is at most, in pixels. */
export const PHOTO_SIZES = [400, 800, 1_600] as const;
export type PhotoSize = (typeof PHOTO_SIZES)[number];

/** A room, or the house of a community. */
export type PhotoOwner = { readonly kind: 'space' | 'house'; readonly id: number };

/** Of the file of one photo. */
export const MAX_PHOTO_BYTES = 8_000_000;

/** How many photos a room and a house may have. */
export const MAX_PHOTOS = { space: 10, house: 5 } as const;

/** The field of an event or document with the text about a photo. A field for each, because texts are sealed one by one. */
type AltField = `alt-${string}`;
const altField = (photo: string): AltField => `alt-${photo}`;
const isAltField = (field: string): field is AltField => field.startsWith('alt-');

/** Photos in their order, with what is written about each. */
export type PhotoList<T extends PersonalText = PersonalText> = {
  readonly photos: readonly StoredPhoto[];
  readonly [alt: AltField]: T;
};

/** The photos of a room or a house, folded. */
export type Photos<T extends PersonalText = PersonalText> = {
  readonly photos: readonly StoredPhoto[];
  /** How often they have changed, so that a page can say which list it showed. */
  readonly changes: number;
  readonly [alt: AltField]: T;
};

export const NO_PHOTOS: Photos<never> = { photos: [], changes: 0 };

export const evolvePhotos = (before: Photos | undefined, after: PhotoList): Photos => ({
  ...listIn(after),
  changes: (before?.changes ?? 0) + 1,
});

/** The list in an event or a document, without its other fields. */
const listIn = <T extends PersonalText>(holder: PhotoList<T>): PhotoList<T> => ({
  photos: holder.photos,
  ...altsIn(holder),
});

/** The texts about photos, by the fields that hold them. */
export const altsIn = <T extends PersonalText>(holder: PhotoList<T>): { readonly [alt: AltField]: T } =>
  picked(holder, keysOf(holder).filter(isAltField));

/** The photos of an opened list. */
export const photosIn = (list: PhotoList<string>): readonly Photo[] =>
  list.photos.map((each) => {
    const alt = list[altField(each.photo)];
    return alt === undefined ? each : { ...each, alt };
  });

/** Where a photo is wanted, with a new text about it; `null` for none. An absent text stays. */
export type PlacedPhoto = { readonly photo: string; readonly alt?: string | null };

export type PhotoChange =
  /** Adds photos behind the others. */
  | { readonly add: readonly Photo[] }
  /** Puts those that are there in this order; those left out are removed. `seen`: the `changes` of the list that the page showed. */
  | { readonly arrange: readonly PlacedPhoto[]; readonly seen?: number };

/** The list after a change, with new texts unsealed. Undefined if nothing changes. */
export function changedPhotos(
  before: Photos = NO_PHOTOS,
  change: PhotoChange,
  most: number,
): PhotoList | Refusal | undefined {
  const list = 'add' in change ? added(before, change.add, most) : arranged(before, change);
  return isRefusal(list) || JSON.stringify(list) !== JSON.stringify(listIn(before)) ? list : undefined;
}

function added(before: Photos, photos: readonly Photo[], most: number): PhotoList | Refusal {
  const all = [...before.photos.map(({ photo }) => photo), ...photos.map(({ photo }) => photo)];
  const wrong = refuseFor([
    all.length > most ? tooMany(most) : undefined,
    new Set(all).size < all.length ? refuseField('photo', 'is there already') : undefined,
    ...photos.map(({ alt }) => wrongText('alt', alt, PHOTO_ALT)),
  ]);
  return (
    wrong ?? {
      photos: [...before.photos, ...photos.map((each) => picked(each, ['photo', 'width', 'height']))],
      ...altsIn(before),
      ...altsOf(photos),
    }
  );
}

export const tooMany = (most: number): Refusal =>
  refuse('ValidationError', `There may be at most ${most} photos.`, { field: 'photos' });

function arranged(
  before: Photos,
  { arrange, seen = before.changes }: Extract<PhotoChange, { readonly arrange: unknown }>,
): PhotoList | Refusal {
  const stored = new Map(before.photos.map((each) => [each.photo, each]));
  const photos = arrange.flatMap(({ photo }) => stored.get(photo) ?? []);
  const isOfAnother = photos.length < arrange.length || new Set(photos).size < photos.length;
  if (seen !== before.changes || isOfAnother)
    return refuse('ValidationError', 'The photos were changed by someone else in the meantime. Look again.', {
      field: 'photos',
    });
  const kept = arrange.filter(({ alt }) => alt === undefined).map(({ photo }) => altField(photo));
  return (
    refuseFor(arrange.map(({ alt }) => wrongText('alt', alt ?? undefined, PHOTO_ALT))) ?? {
      photos,
      ...picked(altsIn(before), kept),
      ...altsOf(arrange),
    }
  );
}

const altsOf = (photos: readonly PlacedPhoto[]): { readonly [alt: AltField]: string } =>
  Object.fromEntries(photos.flatMap(({ photo, alt }) => (alt ? [[altField(photo), alt]] : [])));

/** The width of a size in pixels; a photo is never enlarged. */
export const widthAt = (size: PhotoSize, { width, height }: Pick<StoredPhoto, 'width' | 'height'>): number =>
  Math.max(1, Math.round(width * Math.min(1, size / Math.max(width, height))));

export const heightAt = (size: PhotoSize, { width, height }: Pick<StoredPhoto, 'width' | 'height'>): number =>
  widthAt(size, { width: height, height: width });

/** The path of a size. All who know the name may read it, so it names nothing else. */
export const photoPath = (photo: string, size: PhotoSize): string => `/photos/${photo}/${size}.webp`;
