import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openIdempotencyKeys } from '../../src/commands/idempotency-keys.ts';
import { everyDocument } from '../../src/document-store/queries.ts';
import { createSqliteDatabase, type TestDatabase } from '../document-store/engines.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createSqliteDatabase();
});
afterEach(() => database.remove());

/** The keys as two processes see them. */
async function twoProcesses() {
  const open = async () => openIdempotencyKeys(await database.open(), () => Date.parse('2026-12-01T12:00:00Z'));
  const [one, two] = [await open(), await open()];
  return {
    claim: (request: string) => one.claim('brand-1', 'key', request),
    claimElsewhere: (request: string) => two.claim('brand-1', 'key', request),
  };
}

const records = async () =>
  (await database.open()).open<{ requests?: number }>({ name: 'idempotencyKeys', kind: 'record', indexes: [] });

test('a key that has expired is free, even before it is removed', async () => {
  const at = async (time: string) => openIdempotencyKeys(await database.open(), () => Date.parse(time));
  expect(await (await at('2026-12-01T12:00:00Z')).claim('brand-1', 'key', 'a')).toBeDefined();
  expect(await (await at('2026-12-30T12:00:00Z')).claim('brand-1', 'key', 'b')).toBeUndefined();
  expect(await (await at('2026-12-31T12:00:01Z')).claim('brand-1', 'key', 'b')).toBeDefined();
});

describe('a claim', () => {
  test('lasts while one of its requests is in progress or was accepted, in any process', async () => {
    const { claim, claimElsewhere } = await twoProcesses();
    const [first, repeated] = [await claim('a'), await claimElsewhere('a')];
    expect(await claim('b')).toBeUndefined();
    await first?.release();
    expect(await claimElsewhere('b')).toBeUndefined();
    await repeated?.release();
    expect(await (await records()).count(everyDocument())).toBe(0);
    expect(await claim('b')).toBeDefined();
  });

  test('leaves no record when all its requests release it at once', async () => {
    const { claim, claimElsewhere } = await twoProcesses();
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? claim('a') : claimElsewhere('a'))),
    );
    await Promise.all(claims.map((each) => each?.release()));
    expect(await (await records()).count(everyDocument())).toBe(0);
  });

  test('of a process that died before it removed the record is free', async () => {
    const { claim } = await twoProcesses();
    await claim('a');
    for (const { key, document } of await Array.fromAsync((await records()).find(everyDocument())))
      await (await records()).update(key, () => ({ ...document, requests: 0 }));
    expect(await claim('b')).toBeDefined();
  });
});
