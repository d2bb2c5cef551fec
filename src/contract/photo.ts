import { defined } from '../domain/defined.ts';
import { heightAt, PHOTO_SIZES, type Photo, type PhotoSize, photoPath, widthAt } from '../domain/photos.ts';
import { picked } from '../domain/picked.ts';
import type { PhotoDto } from './schemas/photo.ts';

/** The address of a size. */
export const photoUrl = (publicUrl: string, { photo }: Pick<Photo, 'photo'>, size: PhotoSize): string =>
  `${publicUrl}${photoPath(photo, size)}`;

export const toPhotoDto = (photo: Photo, publicUrl: string): PhotoDto => ({
  ...defined({ alt: photo.alt }),
  sizes: PHOTO_SIZES.map((size) => ({
    url: photoUrl(publicUrl, photo, size),
    width: widthAt(size, photo),
    height: heightAt(size, photo),
  })),
});

/** A photo as the command line prints it with `--json`. */
export const toOperatorPhoto = (photo: Photo) => picked(photo, ['photo', 'width', 'height', 'alt']);
