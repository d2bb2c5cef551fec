import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createApiKeyAuthentication } from '../../src/auth/authenticate.ts';
import { createApiKeyCommands } from '../../src/commands/api-keys.ts';
import { createCommandHandler } from '../../src/commands/command-handler.ts';
import { type Credentials, openCredentials } from '../../src/credentials/credentials.ts';
import type { DocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { OPERATOR } from '../../src/domain/account.ts';
import { apiKeyId, brandId } from '../../src/domain/ids.ts';
import { streamOf } from '../../src/domain/streams.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { hashApiKey, makeApiKey, previewApiKey } from '../../src/secrets/api-key-format.ts';

const context = { actor: OPERATOR, correlationId: 'test' };
const account = { kind: 'Brand', id: brandId(1) } as const;

let folder: string;
let documents: DocumentStore;
let log: EventStore;
/** While this is set, the log cannot be read. */
let outage: Error | undefined;

const events = (): EventStore =>
  new Proxy(log, {
    get(target, name: keyof EventStore) {
      if (outage !== undefined && (name === 'readStream' || name === 'readAll')) throw outage;
      const value = target[name];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

/** A process. Neither it nor any other projects. */
async function openProcess(graceMs = 60_000) {
  const credentials: Credentials = await openCredentials({ events: events(), documents, graceMs });
  const handler = createCommandHandler({
    events: events(),
    clock: Date.now,
    waitFor: async () => false,
    appended: credentials.appended,
  });
  const keys = createApiKeyCommands({ handler, keyIndex: credentials.keyIndex });
  const authenticate = createApiKeyAuthentication(credentials);
  return {
    credentials,
    authenticate,
    revoke: (id: string) => keys.revoke({ apiKeyId: id }, context),
    async issue() {
      const issued = await keys.issue({ account, permissions: 31, label: 'Test' }, context);
      if ('refused' in issued) throw new Error(issued.details);
      return issued;
    },
  };
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-credentials-'));
  documents = await openSqliteDocumentStore({ folder });
  log = await openSqliteEventStore({ path: join(folder, 'events.db') });
  outage = undefined;
});
afterEach(async () => {
  await log.close();
  await documents.close();
  await rm(folder, { recursive: true });
});

describe('an API key, while nothing projects', () => {
  test('works immediately in every process, and stops working within 2 s in every process', async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    const { key, apiKeyId: id } = await one.issue();
    expect(await one.authenticate(key)).toMatchObject({ account, permissions: 31, credential: { id } });
    expect(await other.authenticate(key)).toMatchObject({ account, permissions: 31, credential: { id } });

    await one.revoke(id);
    expect(await one.authenticate(key)).toBeUndefined();
    const deadline = performance.now() + 2_000;
    while ((await other.authenticate(key)) !== undefined) {
      expect(performance.now()).toBeLessThan(deadline);
      await delay(20);
    }
  });

  test('is found in the log if it was issued before keys were indexed', async () => {
    const key = makeApiKey();
    const data = { apiKeyId: 'key_old', account, permissions: 2, label: 'Old', hash: hashApiKey(key) };
    const metadata = { at: '2026-01-01T00:00:00.000Z', actor: { ...OPERATOR }, correlationId: 'c', schema: 1 };
    await log.append(
      streamOf.apiKey('key_old'),
      [{ type: 'ApiKeyIssued', data: { ...data, account: { ...account }, preview: previewApiKey(key) }, metadata }],
      { expectedRevision: 'none' },
    );
    const { authenticate } = await openProcess();
    expect(await authenticate(key)).toMatchObject({ permissions: 2, credential: { id: apiKeyId('key_old') } });
    expect(await authenticate(makeApiKey())).toBeUndefined();
  });
});

describe('while the log cannot be read', () => {
  test('a key that was valid stays valid for the configured time, then causes an error, not a refusal', async () => {
    const { authenticate, issue } = await openProcess(1_400);
    const { key } = await issue();
    expect(await authenticate(key)).toBeDefined();
    outage = new Error('No route to host');
    await delay(1_100);
    expect(await authenticate(key)).toBeDefined();
    await delay(400);
    await expect(authenticate(key)).rejects.toThrow(Unavailable);
    outage = undefined;
    expect(await authenticate(key)).toBeDefined();
  });

  test('a revoked key stays revoked, and one never seen causes an error', async () => {
    const { authenticate, issue, revoke } = await openProcess();
    const [revoked, unseen] = [await issue(), await issue()];
    await revoke(revoked.apiKeyId);
    expect(await authenticate(revoked.key)).toBeUndefined();
    outage = new Error('No route to host');
    await delay(1_100);
    expect(await authenticate(revoked.key)).toBeUndefined();
    await expect(authenticate(unseen.key)).rejects.toThrow(Unavailable);
  });
});
