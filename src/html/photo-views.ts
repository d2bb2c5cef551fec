import type { SpaceFacts } from '../domain/description.ts';
import { PHOTO_SIZES, type Photo, photoPath, widthAt } from '../domain/photos.ts';
import { assetUrl } from './assets.ts';
import { escapeText, type Html, html, raw } from './html.ts';

type Shown = {
  /** How wide the picture is shown, as in the attribute `sizes` of an image. */
  readonly sizes: string;
  /** Whether the browser loads it with the page. Default: when it comes into view. */
  readonly isFirst?: boolean;
};

/** A photo, in the size that fits the page. Without a text about it, programs that read a page aloud pass it over. */
export function photoImage(photo: Photo, { sizes, isFirst = false }: Shown): Html {
  const { width, height, alt = '' } = photo;
  // The addresses hold digits and letters alone.
  const all = PHOTO_SIZES.map((size) => `${photoPath(photo.photo, size)} ${widthAt(size, photo)}w`).join(', ');
  return html`<img class="photo" src="${photoPath(photo.photo, 800)}"${raw(` srcset="${escapeText(all)}"`)} sizes="${sizes}"
width="${width}" height="${height}" alt="${alt}" decoding="async"${!isFirst && html` loading="lazy"`}>`;
}

/** The first photo of a space, or without one a picture drawn for its kind. */
export function coverOf({ facts = {} }: { readonly facts?: SpaceFacts }, photos: readonly Photo[], shown: Shown): Html {
  const [first] = photos;
  if (first !== undefined) return html`<span class="cover">${photoImage(first, shown)}</span>`;
  return html`<span class="cover drawn"><svg viewBox="0 0 320 200" preserveAspectRatio="xMidYMid slice" aria-hidden="true"><use
href="${assetUrl('rooms.svg')}#${facts.kind ?? 'Other'}"></use></svg></span>`;
}

/** All photos, the first one large. They are scrolled without a script. Undefined if there are none. */
export function gallery(photos: readonly Photo[], label: string): Html | undefined {
  if (photos.length === 0) return undefined;
  const items = photos.map(
    (photo, index) =>
      html`<li>${photoImage(photo, { sizes: '(width < 64rem) 92vw, 60rem', isFirst: index === 0 })}</li>`,
  );
  return html`<ul class="gallery" aria-label="${label}" tabindex="0">${items}</ul>`;
}
