import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isRefusal } from '../../src/domain/decision.ts';
import { communityId, spaceId } from '../../src/domain/ids.ts';
import type { SealedText } from '../../src/domain/personal-text.ts';
import {
  changedPhotos,
  evolvePhotos,
  MAX_PHOTOS,
  NO_PHOTOS,
  type Photo,
  type PhotoChange,
  type PhotoList,
  type Photos,
  photosIn,
  widthAt,
} from '../../src/domain/photos.ts';
import { changeSpacePhotos } from '../../src/domain/space.ts';

const named = (name: string, alt?: string): Photo => ({
  photo: name.repeat(64),
  width: 1_600,
  height: 1_000,
  ...(alt !== undefined && { alt }),
});
const [a, b, c] = [named('a', 'The hall'), named('b'), named('c')];

function after(before: Photos, change: PhotoChange, most: number = MAX_PHOTOS.space): Photos {
  const list = changedPhotos(before, change, most);
  if (isRefusal(list)) throw new Error(list.details);
  return list === undefined ? before : evolvePhotos(before, list);
}
const refusal = (before: Photos, change: PhotoChange, most: number = MAX_PHOTOS.space) => {
  const list = changedPhotos(before, change, most);
  return isRefusal(list) ? list.details : undefined;
};
const three = after(NO_PHOTOS, { add: [a, b, c] });
const order = ({ photos }: PhotoList) => photos.map(({ photo }) => photo[0]).join('');

test('photos are added behind the others, each once, up to a limit', () => {
  expect(order(three)).toBe('abc');
  expect(order(after(three, { add: [named('d')] }))).toBe('abcd');
  expect(refusal(three, { add: [named('d'), b] })).toBe('photo is there already.');
  expect(refusal(three, { add: [named('d'), named('d')] })).toBe('photo is there already.');
  expect(refusal(three, { add: [named('d')] }, 3)).toBe('There may be at most 3 photos.');
  expect(refusal(NO_PHOTOS, { add: [named('d', 'x'.repeat(301))] })).toBe('alt must have at most 300 characters.');
});

test('photos are put in order, described and removed in one change', () => {
  const changed = after(three, { arrange: [{ photo: c.photo, alt: 'The bar' }, { photo: a.photo }], seen: 1 });
  expect(photosIn(changed as Photos<string>)).toEqual([{ ...c, alt: 'The bar' }, a]);
  expect(changed.changes).toBe(2);
  const without = after(changed, {
    arrange: [
      { photo: c.photo, alt: null },
      { photo: a.photo, alt: '' },
    ],
  });
  expect(photosIn(without as Photos<string>)).toEqual([c, named('a')]);
  expect(changedPhotos(without, { arrange: [{ photo: c.photo }, { photo: a.photo, alt: null }] }, 10)).toBeUndefined();
});

test('a list that changed since the page showed it is refused, as is another one', () => {
  const changed = 'The photos were changed by someone else in the meantime. Look again.';
  const stale = { arrange: [{ photo: b.photo }, { photo: a.photo }, { photo: c.photo }], seen: 0 };
  expect(refusal(three, stale)).toBe(changed);
  expect(refusal(three, { arrange: [{ photo: named('x').photo }] })).toBe(changed);
  expect(refusal(three, { arrange: [{ photo: a.photo }, { photo: a.photo }] })).toBe(changed);
});

test('a text that is sealed already stays sealed, and goes with its photo', () => {
  const sealed: SealedText = { subject: 'community:1', sealed: 'x' };
  const stored: Photos = { ...three, [`alt-${a.photo}`]: sealed };
  expect(changedPhotos(stored, { add: [named('d', 'New')] }, 10)).toMatchObject({
    [`alt-${a.photo}`]: sealed,
    [`alt-${named('d').photo}`]: 'New',
  });
  expect(changedPhotos(stored, { arrange: [{ photo: b.photo }] }, 10)).toEqual({ photos: [named('b')] });
});

test('any order of the photos that are there is what the list then has', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray([a, b, c]), (wanted) => {
      const changed = after(three, { arrange: wanted.map(({ photo }) => ({ photo })) });
      expect(photosIn(changed as Photos<string>)).toEqual(wanted);
    }),
  );
});

test('the event holds the whole list, and there is none if nothing changes', () => {
  const terms = { name: 'Hall', windowStart: 9, windowEnd: 20, durationHours: 2, eventFee: 0, answerHours: 1 };
  const of = { spaceId: spaceId(4), communityId: communityId(1) };
  const space = { ...terms, ...of, timeZone: 'UTC', active: true } as Parameters<typeof changeSpacePhotos>[0];
  expect(changeSpacePhotos(space, { spaceId: of.spaceId, add: [a] })).toEqual([
    {
      type: 'SpacePhotosChanged',
      data: { ...of, photos: [named('a')], [`alt-${a.photo}`]: 'The hall' },
    },
  ]);
  expect(changeSpacePhotos(space, { spaceId: of.spaceId, arrange: [] })).toEqual([]);
  expect(changeSpacePhotos(undefined, { spaceId: of.spaceId, add: [a] })).toMatchObject({
    refused: 'ResourceNotFound',
  });
});

test('sizes keep the shape, and none is larger than the photo', () => {
  expect(widthAt(400, { width: 1_600, height: 1_000 })).toBe(400);
  expect(widthAt(400, { width: 1_000, height: 1_600 })).toBe(250);
  expect(widthAt(1_600, { width: 300, height: 200 })).toBe(300);
});
