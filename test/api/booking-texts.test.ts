import { expect, test } from 'vitest';
import { type BookingDocument, pendingBooking } from '../../projections/bookings.ts';
import { createBookingTexts } from '../../src/api/booking-texts.ts';
import { timestamp } from '../../src/domain/ids.ts';
import { requested } from '../domain/bookings.fixture.ts';
import { eventually } from '../eventually.ts';

const BOOKING = pendingBooking(requested({ message: 'x' }).data, timestamp('2026-12-01T11:00:00.000Z'));

/** Opens messages as `says` tells, and notes how many it opened. */
function texts(says: () => string | Promise<string>) {
  const opened: number[] = [];
  const textsOf = createBookingTexts({
    async open(documents: readonly BookingDocument[]) {
      opened.push(documents.length);
      const message = await says();
      return documents.map(({ reason: _, ...document }) => ({ ...document, message }));
    },
  });
  const page = (erasures: number, { version = 1, collection = 'a', keys = ['1'] } = {}) =>
    textsOf({ collection, erasures, rows: keys.map((key) => ({ key, version, read: () => BOOKING })) });
  return { opened, page };
}

test('a booking is opened again only once it, its collection or what was erased has changed', async () => {
  const { opened, page } = texts(() => 'Hello');
  const [first] = await page(0);
  expect(JSON.parse(first ?? '')).toMatchObject({ id: 1, brandName: 'Acme', message: 'Hello' });
  expect(await page(0)).toEqual([first]);
  expect(opened).toEqual([1]);
  await page(0, { version: 2 });
  await page(0, { version: 2, collection: 'b' });
  await page(1, { version: 2, collection: 'b' });
  expect(opened).toEqual([1, 1, 1, 1]);
  expect(await page(1, { version: 2, collection: 'b', keys: ['1', '2', '3'] })).toHaveLength(3);
  expect(opened.at(-1)).toBe(2);
});

test('a text that was opened before it was erased is in no later list', async () => {
  const early = Promise.withResolvers<string>();
  let said: string | Promise<string> = early.promise;
  const { opened, page } = texts(() => said);
  const before = page(0);
  await eventually(() => expect(opened).toEqual([1]));
  said = 'erased';
  const after = await page(1);
  early.resolve('A secret');
  expect((await before)[0]).toContain('A secret');
  expect(await page(1)).toEqual(after);
  expect(after[0]).toContain('"message":"erased"');
});

test('a cache of long messages empties itself, and no page lacks a booking', async () => {
  const { opened, page } = texts(() => 'x'.repeat(500));
  const keys = Array.from({ length: 12_000 }, (_, i) => String(i));
  expect(await page(0, { keys })).toHaveLength(keys.length);
  expect(await page(0, { keys })).toHaveLength(keys.length);
  expect(opened.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(keys.length);
});
