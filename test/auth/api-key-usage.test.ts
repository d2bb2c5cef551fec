import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createApiKeyUsage } from '../../src/auth/api-key-usage.ts';
import type { Authenticate } from '../../src/auth/authenticate.ts';
import type { DocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { brandId } from '../../src/domain/ids.ts';
import { eventually } from '../eventually.ts';

let folder: string;
let documents: DocumentStore;
let now: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-uses-'));
  documents = await openSqliteDocumentStore({ folder });
  now = Date.parse('2026-12-01T12:00:30Z');
});
afterEach(async () => {
  await documents.close();
  await rm(folder, { recursive: true });
});

const authenticate: Authenticate = async (token) =>
  token === 'unknown'
    ? undefined
    : { account: { kind: 'Brand', id: brandId(1) }, permissions: 31, credential: { kind: 'apiKey', id: token } };
const open = () => createApiKeyUsage({ documents, clock: () => now, logger: { debug: () => {} } });

test('records the minute in which a key was last used, for all processes', async () => {
  const one = await open();
  const other = await open();
  const call = one.trackUsage(authenticate);
  expect(await call('key_1')).toMatchObject({ credential: { id: 'key_1' } });
  await eventually(async () =>
    expect((await other.lastUsed(['key_1', 'key_2'])).get('key_1')).toBe('2026-12-01T12:00:00.000Z'),
  );
  now += 60_000;
  await other.trackUsage(authenticate)('key_1');
  await eventually(async () => expect((await one.lastUsed(['key_1'])).get('key_1')).toBe('2026-12-01T12:01:00.000Z'));
  expect((await one.lastUsed(['key_1', 'key_2'])).has('key_2')).toBe(false);
});

test('a process whose clock is behind does not overwrite a later use', async () => {
  await (await open()).trackUsage(authenticate)('key_1');
  const uses = await open();
  await eventually(async () => expect((await uses.lastUsed(['key_1'])).size).toBe(1));
  now -= 600_000;
  await uses.trackUsage(authenticate)('key_1');
  await uses.trackUsage(authenticate)('key_2');
  await eventually(async () => expect((await uses.lastUsed(['key_2'])).size).toBe(1));
  expect((await uses.lastUsed(['key_1'])).get('key_1')).toBe('2026-12-01T12:00:00.000Z');
});

test('does not record an unknown key, and a store failure does not fail the call', async () => {
  const uses = await open();
  expect(await uses.trackUsage(authenticate)('unknown')).toBeUndefined();
  await documents.close();
  expect(await uses.trackUsage(authenticate)('key_1')).toBeDefined();
  documents = await openSqliteDocumentStore({ folder });
  expect((await (await open()).lastUsed(['unknown', 'key_1'])).size).toBe(0);
});
