import { randomBytes } from 'node:crypto';
import type { Collection, Documents, OperatedDocumentStore, Stored } from '../document-store/document-store.ts';
import { everyDocument } from '../document-store/queries.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import { PHOTO_SIZES, type PhotoSize, type StoredPhoto } from '../domain/photos.ts';
import type { Clock } from '../runtime/clock.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import type { PhotoSizes } from './resizer.ts';

/** What a removal found to be unneeded, and when first. It stays for a while, because a backup may need it still. */
type Sweepable = { readonly unneededSince?: Timestamp | null };

/** A photo, by the SHA-256 of what was uploaded. */
type PhotoRecord = Sweepable &
  Pick<StoredPhoto, 'width' | 'height'> & {
    /** The file that holds its sizes. */
    readonly file: string;
    /** Of all sizes. */
    readonly bytes: number;
    /** The length of each size in bytes, smallest first. */
    readonly lengths: readonly number[];
    /** When somebody last asked for it to be stored. It stays for a while, because only then a list names it. */
    readonly wantedAt: Timestamp;
  };

/** Stored before its parts, so that those of a process that died can be found. */
type PhotoFile = Sweepable & {
  readonly photo: string;
  readonly lengths: readonly number[];
  readonly storedAt: Timestamp;
};

type PhotoPart = { readonly base64: string };

const PHOTOS: Collection<PhotoRecord> = { name: 'photos', kind: 'record', indexes: [] };
const FILES: Collection<PhotoFile> = { name: 'photoFiles', kind: 'record', indexes: [] };
const PARTS: Collection<PhotoPart> = { name: 'photoParts', kind: 'record', indexes: [] };

/** Bytes of a part, so that a photo that is sent takes little memory. */
const PART = 64 * 1024;
/**
 * How long a photo is kept after it was wanted, and after a removal first found that no list names it; likewise a file that is of no
 * photo. Far longer than it takes from storing a photo to naming it, and than a backup takes from the end of its log to the last part.
 */
const UNNEEDED_FOR_MS = 3_600_000;
/** Far shorter: a photo that took longer from being stored, or wanted, to being named may have been removed again. */
export const NAMED_WITHIN_MS = 10 * 60_000;

/** A size of a photo. */
export type SizeOfPhoto = { readonly file: string; readonly size: PhotoSize; readonly length: number };

/** The bytes of photos, in parts (docs/decisions/photos.md). */
export async function openPhotoRecords(deps: {
  readonly documents: Pick<OperatedDocumentStore, 'open' | 'purge'>;
  readonly clock: Clock;
}) {
  const { documents, clock } = deps;
  const photos = await documents.open(PHOTOS);
  const files = await documents.open(FILES);
  const parts = await documents.open(PARTS);

  const now = (): Timestamp => toTimestamp(clock());
  const isOld = (at: Timestamp): boolean => clock() - Date.parse(at) > UNNEEDED_FOR_MS;
  const wanted = () => ({ wantedAt: now(), unneededSince: null });

  /** Keeps a photo that is there from being removed. @returns it, unless it is not there */
  async function want(photo: string): Promise<StoredPhoto | undefined> {
    const { stored } = await photos.update(photo, (record) => record && { ...record, ...wanted() });
    if (stored === undefined) return undefined;
    if ((await files.get(stored.document.file)) !== undefined) return toStored(photo, stored.document);
    // Named by a process that stood still until its file was removed. Stored again, it is whole.
    await photos.delete(photo, stored.version);
    return undefined;
  }

  /** Removes what was unneeded for an hour, and notes what has become so. What changes meanwhile stays. */
  async function sweep<D extends Sweepable>(
    collection: Documents<D>,
    isNeeded: (stored: Stored<D>) => boolean,
    remove: (stored: Stored<D>) => Promise<boolean>,
  ): Promise<number> {
    let removed = 0;
    for await (const stored of collection.find(everyDocument())) {
      const { unneededSince = null } = stored.document;
      const note = (since: Timestamp | null) =>
        collection.update(stored.key, (document, version) =>
          document && version === stored.version ? { ...document, unneededSince: since } : undefined,
        );
      if (isNeeded(stored)) {
        if (unneededSince !== null) await note(null);
      } else if (unneededSince === null) await note(now());
      else if (isOld(unneededSince) && (await remove(stored))) removed += 1;
    }
    return removed;
  }

  async function removeFile(file: string, { lengths }: Pick<PhotoFile, 'lengths'>): Promise<void> {
    await Promise.all(partsOf(file, lengths).map(({ key }) => parts.delete(key)));
    await files.delete(file);
  }

  return {
    want,

    /** Stores a photo unless it is there. The bytes are stored before the name. */
    async store(photo: string, { width, height, sizes }: PhotoSizes): Promise<StoredPhoto> {
      const before = await want(photo);
      if (before !== undefined) return before;
      const began = performance.now();
      const file = randomBytes(15).toString('base64url');
      const lengths = lengthsOf(sizes);
      await files.insert(file, { photo, lengths, storedAt: now() });
      const partAt = (size: PhotoSize, at: number) =>
        sizes
          .get(size)
          ?.subarray(at, at + PART)
          .toString('base64') ?? '';
      await Promise.all(
        partsOf(file, lengths).map(({ key, size, at }) => parts.insert(key, { base64: partAt(size, at) })),
      );
      if (performance.now() - began > NAMED_WITHIN_MS)
        throw new Unavailable(`Storing the photo ${photo} took too long`);
      const bytes = lengths.reduce((sum, length) => sum + length, 0);
      const { stored } = await photos.update(photo, (other) => ({
        ...(other ?? { file, width, height, bytes, lengths }),
        ...wanted(),
      }));
      if (stored === undefined) throw new Error(`The photo ${photo} was stored and is not there`);
      // Another process was first.
      if (stored.document.file !== file) await removeFile(file, { lengths });
      return toStored(photo, stored.document);
    },

    /** What these take in the store, in bytes. */
    async bytesOf(names: ReadonlySet<string>): Promise<number> {
      const stored = await photos.getMany([...names]);
      return stored.reduce((sum, { document }) => sum + document.bytes, 0);
    },

    /** Undefined if the photo is not there. */
    async sizeOf(photo: string, size: PhotoSize): Promise<SizeOfPhoto | undefined> {
      const record = (await photos.get(photo))?.document;
      const length = record?.lengths[PHOTO_SIZES.indexOf(size)];
      return record === undefined || length === undefined ? undefined : { file: record.file, size, length };
    },

    /** The bytes of a size, in parts, each read when it is asked for. */
    async *read({ file, size, length }: SizeOfPhoto): AsyncGenerator<Buffer> {
      for (let at = 0; at < length; at += PART) {
        const part = await parts.get(keyOf(file, size, at));
        if (part === undefined) throw new Error(`A part of the photo file ${file} is missing`);
        yield Buffer.from(part.document.base64, 'base64');
      }
    },

    /**
     * Removes photos that no list has named for an hour, an hour later their bytes, and what processes that died left behind.
     * @param isNamed as of now: the read models have passed the end of the log
     * @returns how many photos were removed
     */
    async removeUnnamed(isNamed: (photo: string) => boolean): Promise<number> {
      const inUse = new Set<string>();
      const removed = await sweep(
        photos,
        ({ key, document }) => {
          inUse.add(document.file);
          return isNamed(key) || !isOld(document.wantedAt);
        },
        async ({ key, version, document }) => {
          // An upload or a copy that wants it meanwhile writes another version.
          const isRemoved = await photos.delete(key, version);
          if (isRemoved) inUse.delete(document.file);
          return isRemoved;
        },
      );
      const erased = await sweep(
        files,
        ({ key, document }) => inUse.has(key) || !isOld(document.storedAt),
        async ({ key, document }) => {
          if (await isFileOf(photos, key, document)) return false;
          await removeFile(key, document);
          return true;
        },
      );
      if (erased > 0) await documents.purge();
      return removed;
    },
  };
}

const lengthsOf = (sizes: PhotoSizes['sizes']): readonly number[] =>
  PHOTO_SIZES.map((size) => sizes.get(size)?.length ?? 0);

const isFileOf = async (photos: Documents<PhotoRecord>, file: string, { photo }: PhotoFile): Promise<boolean> =>
  (await photos.get(photo))?.document.file === file;

const toStored = (photo: string, { width, height }: PhotoRecord): StoredPhoto => ({ photo, width, height });

const keyOf = (file: string, size: PhotoSize, at: number): string => `${file}:${size}:${at / PART}`;

/** The parts of a file: the offset of each in its size. */
const partsOf = (file: string, lengths: readonly number[]) =>
  PHOTO_SIZES.flatMap((size, index) =>
    Array.from({ length: Math.ceil((lengths[index] ?? 0) / PART) }, (_, part) => {
      const at = part * PART;
      return { key: keyOf(file, size, at), size, at };
    }),
  );
