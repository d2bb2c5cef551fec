import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDocumentCopies } from '../../src/authorization-server/document-copies.ts';
import { createSqliteDatabase, type TestDatabase } from '../document-store/engines.ts';

const URL_OF_CLIENT = 'https://app.example/client.json';

let database: TestDatabase;
beforeEach(async () => {
  database = await createSqliteDatabase();
});
afterEach(() => database.remove());

const processOf = async (clock = Date.now) => openDocumentCopies({ documents: await database.open(), clock });

test('the process that handles the consent stores a copy of the document at its next fetch', async () => {
  const [fetching, allowing] = await Promise.all([processOf(), processOf()]);
  await fetching.fetched(URL_OF_CLIENT, '{}');
  await allowing.keep(URL_OF_CLIENT);
  expect(await fetching.get(URL_OF_CLIENT)).toBeUndefined();
  await fetching.fetched(URL_OF_CLIENT, '{}');
  expect(await allowing.get(URL_OF_CLIENT)).toBe('{}');
  // Another user consents: the existing copy stays.
  await (await processOf()).keep(URL_OF_CLIENT);
  expect(await allowing.get(URL_OF_CLIENT)).toBe('{}');
});

test('stores no copy for a client without a document or without consent', async () => {
  const copies = await processOf();
  await copies.keep('AWkONUIYk5EREFmWVcOHxt');
  await copies.fetched('AWkONUIYk5EREFmWVcOHxt', '{}');
  await copies.fetched(URL_OF_CLIENT, '{}');
  for (const id of ['AWkONUIYk5EREFmWVcOHxt', URL_OF_CLIENT]) expect(await copies.get(id)).toBeUndefined();
});

test('a copy that has expired counts as none, even before it is removed', async () => {
  const before = await processOf();
  await before.fetched(URL_OF_CLIENT, '{}');
  await before.keep(URL_OF_CLIENT);
  const later = await processOf(() => Date.now() + 32 * 24 * 3_600_000);
  // No user has allowed the client since.
  await later.fetched(URL_OF_CLIENT, '{"new":1}');
  expect(await later.isAllowed(URL_OF_CLIENT)).toBe(false);
  // A user allows it in a process that has not fetched the document.
  const allowing = await processOf(() => Date.now() + 32 * 24 * 3_600_000);
  await allowing.keep(URL_OF_CLIENT);
  expect(await later.isAllowed(URL_OF_CLIENT)).toBe(true);
});
