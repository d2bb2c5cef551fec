import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SPACE_KINDS } from '../../src/domain/description.ts';
import { coverOf, gallery } from '../../src/html/photo-views.ts';

const photo = { photo: 'ab'.repeat(32), width: 1_200, height: 1_600 };

test('a cover offers each size with its width, and is described only by its community', () => {
  const { markup } = coverOf({}, [{ ...photo, alt: 'Tables "by" the window' }], { sizes: '20rem' });
  expect(markup).toContain(`srcset="/photos/${photo.photo}/400.webp 300w, /photos/${photo.photo}/800.webp 600w, `);
  expect(markup).toContain('width="1200" height="1600" alt="Tables &quot;by&quot; the window"');
  expect(markup).toContain('loading="lazy"');
  expect(coverOf({}, [photo], { sizes: '20rem' }).markup).toContain('alt=""');
});

test('a space without photos has a picture of its kind', () => {
  const sprite = readFileSync(new URL('../../src/html/assets/rooms.svg', import.meta.url), 'utf8');
  expect(Array.from(sprite.matchAll(/<symbol id="(\w+)"/g), ([, id]) => id)).toEqual(SPACE_KINDS);
  expect(coverOf({ facts: { kind: 'Bar' } }, [], { sizes: '20rem' }).markup).toMatch(/rooms\.svg\?v=[\w-]+#Bar"/);
  expect(coverOf({}, [], { sizes: '20rem' }).markup).toContain('#Other"');
});

test('the first photo of a gallery loads with the page', () => {
  expect(gallery([], 'Photos')).toBeUndefined();
  const [first = '', second] = gallery([photo, photo], 'Photos')?.markup.split('</li>') ?? [];
  expect(first).not.toContain('loading');
  expect(second).toContain('loading="lazy"');
});
