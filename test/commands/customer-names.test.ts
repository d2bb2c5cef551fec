import { afterEach, beforeEach, expect, test } from 'vitest';
import { NAME_RESERVED_MS, openCustomerNames } from '../../src/commands/customer-names.ts';
import { communityId } from '../../src/domain/ids.ts';
import { createSqliteDatabase, type TestDatabase } from '../document-store/engines.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createSqliteDatabase();
});
afterEach(() => database.remove());

test('of two processes, one reserves a name, until it is freed or has expired', async () => {
  let now = Date.parse('2026-12-01T12:00:00Z');
  const open = async () => openCustomerNames(await database.open(), () => now);
  const [one, two] = [await open(), await open()];
  const reserve = (of: typeof one, name: string, owner = 1) => of.reserve(communityId(owner), name);
  const [first, second] = await Promise.all([reserve(one, 'Choir'), reserve(two, ' CHOIR')]);
  expect([first, second].filter((each) => each !== undefined)).toHaveLength(1);
  expect(await reserve(two, 'Choir', 2)).toBeDefined();
  await (first ?? second)?.free();
  const again = await reserve(two, 'Choir');
  expect(again).toBeDefined();
  expect(await reserve(one, 'Choir')).toBeUndefined();
  now += NAME_RESERVED_MS;
  expect(await reserve(one, 'Choir')).toBeDefined();
  // The process whose reservation has expired does not free that of another one.
  await again?.free();
  expect(await reserve(two, 'Choir')).toBeUndefined();
});
