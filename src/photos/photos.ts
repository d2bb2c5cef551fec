import { createHash } from 'node:crypto';
import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import { isRefusal, type Refusal, refuseField } from '../domain/decision.ts';
import { MAX_PHOTO_BYTES, type StoredPhoto } from '../domain/photos.ts';
import { yieldEvery } from '../event-loop/slices.ts';
import type { Clock } from '../runtime/clock.ts';
import { photoFormat } from './photo-format.ts';
import { openPhotoRecords } from './photo-records.ts';
import { createResizer, type PhotoSizes } from './resizer.ts';

export type PhotoStore = Awaited<ReturnType<typeof openPhotos>>;

/** Takes photos in, and stores them under the SHA-256 of what was uploaded (docs/decisions/photos.md). */
export async function openPhotos(deps: {
  readonly documents: Pick<OperatedDocumentStore, 'open' | 'purge'>;
  readonly clock: Clock;
  /** Default: a process for each photo. */
  readonly resize?: ReturnType<typeof createResizer>;
}) {
  const { resize = createResizer() } = deps;
  const records = await openPhotoRecords(deps);

  return {
    ...records,

    /**
     * Stores a file that somebody uploaded, unless its photo is there already.
     * @param account takes turns with others
     * @param refuseBytes a refusal if its sizes take too much room
     */
    async take(
      file: Uint8Array,
      account: string,
      refuseBytes: (photo: string, bytes: number) => Promise<Refusal | undefined>,
    ): Promise<StoredPhoto | Refusal> {
      const wrong = wrongFile(file);
      if (wrong !== undefined) return wrong;
      const photo = await photoName(file);
      const before = await records.want(photo);
      if (before !== undefined) return (await refuseBytes(photo, 0)) ?? before;
      const resized = await resize(file, account);
      if (isRefusal(resized)) return resized;
      return (await refuseBytes(photo, bytesOf(resized))) ?? (await records.store(photo, resized));
    },
  };
}

/** Bytes that are hashed at a time, in less than a millisecond. */
const SLICE = 256 * 1024;

/** The name of a photo. In slices: 8 MB as a whole would hold all other requests up for 10 to 20 ms. */
export async function photoName(file: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  const nextSlice = yieldEvery(1);
  for (let at = 0; at < file.length; at += SLICE) {
    hash.update(file.subarray(at, at + SLICE));
    await nextSlice();
  }
  return hash.digest('hex');
}

const bytesOf = ({ sizes }: PhotoSizes): number => sizes.values().reduce((sum, { length }) => sum + length, 0);

function wrongFile(file: Uint8Array): Refusal | undefined {
  if (file.length === 0) return refuseField('photo', 'is empty');
  if (file.length > MAX_PHOTO_BYTES) return refuseField('photo', `must have at most ${MAX_PHOTO_BYTES / 1_000_000} MB`);
  const format = photoFormat(file);
  if (format === undefined) return refuseField('photo', 'must be a JPEG, PNG, WebP or AVIF file');
  return format === 'heic' ? refuseField('photo', HEIC) : undefined;
}

const HEIC =
  'is in HEIC, which few browsers can show. Save it as JPEG, or let the phone take JPEG (“Most Compatible” on an iPhone)';
