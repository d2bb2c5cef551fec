import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PHOTO_SIZES, type Photo } from '../domain/photos.ts';
import { type PhotoStore, photoName } from '../photos/photos.ts';

/** A drawing (`npm run draw`), and what it shows. */
type Drawing = { readonly file: string; readonly alt: string };

/** The photos of the demo, by the name of the house or the space. */
export const DRAWINGS: { readonly [name: string]: readonly Drawing[] } = {
  'Harbour Lofts': [{ file: 'harbour-house', alt: 'A brick warehouse of four floors on a quay, between two cranes' }],
  'Harbour Hall': [
    { file: 'hall-day', alt: 'Long tables with white cloths, and four tall windows to the harbour' },
    { file: 'hall-evening', alt: 'The bar in the evening: five stools, bottles and warm lamps before a brick wall' },
  ],
  'Rooftop Terrace': [
    { file: 'terrace-sunset', alt: 'Two sofas under a sail and strings of lights, the sun setting over the harbour' },
  ],
  'Union Yard': [{ file: 'union-house', alt: 'A former printing works with arched windows and a plane tree' }],
  Courtyard: [
    { file: 'courtyard-day', alt: 'A laid table on cobbles, beside a plane tree' },
    { file: 'courtyard-night', alt: 'Two laid tables under strings of lights at night' },
  ],
};

const FOLDER = join(import.meta.dirname, 'photos');

/** Stores a drawing, which has all its sizes already. */
export async function storeDrawing(photos: Pick<PhotoStore, 'store'>, { file, alt }: Drawing): Promise<Photo> {
  const files = await Promise.all(
    PHOTO_SIZES.map(async (size) => [size, await readFile(join(FOLDER, `${file}-${size}.webp`))] as const),
  );
  const sizes = new Map(files);
  const name = await photoName(sizes.get(1_600) ?? Buffer.alloc(0));
  return { ...(await photos.store(name, { width: 1_600, height: 1_000, sizes })), alt };
}
