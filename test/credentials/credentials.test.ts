import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ApiKeyDocument } from '../../projections/api-keys.ts';
import { createApiKeyAuthentication } from '../../src/auth/authenticate.ts';
import { createApiKeyCommands } from '../../src/commands/api-keys.ts';
import { createCommandHandler } from '../../src/commands/command-handler.ts';
import { type Credentials, openCredentials } from '../../src/credentials/credentials.ts';
import type { DocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { accountKey, OPERATOR } from '../../src/domain/account.ts';
import { type ApiKeyId, apiKeyId, brandId, type Timestamp } from '../../src/domain/ids.ts';
import { streamOf } from '../../src/domain/streams.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import { type Outage, watchOutage } from '../../src/event-store/outage.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import type { ReadModels } from '../../src/read-models/read-models.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { hashApiKey, makeApiKey, previewApiKey } from '../../src/secrets/api-key-format.ts';
import { eventually } from '../eventually.ts';

const context = { actor: OPERATOR, correlationId: 'test' };
const account = { kind: 'Brand', id: brandId(1) } as const;

let folder: string;
let documents: DocumentStore;
let log: EventStore;
/** While this is set, the log cannot be read. */
let unreachable: Error | undefined;
let watch: Outage;
let closing: AbortController;
/** How often the log was asked. */
let reads: number;
/** What the read model shows, by the hash of a key. */
let shownKeys: Map<string, ApiKeyDocument>;

const events = (): EventStore =>
  new Proxy(log, {
    get(target, name: keyof EventStore) {
      if (name === 'outage') return watch;
      if (name === 'readStream' || name === 'readAll' || name === 'lastEvent') {
        reads += 1;
        if (unreachable !== undefined) throw unreachable;
      }
      const value = target[name];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

/** Read models that hold only the keys. */
const readModels = {
  collection: () => ({
    get: async (hash: string) => {
      const document = shownKeys.get(hash);
      return document && { document };
    },
  }),
} as unknown as ReadModels;

const show = ({ key, apiKeyId: id }: { key: string; apiKeyId: ApiKeyId }, change: Partial<ApiKeyDocument>) =>
  shownKeys.set(hashApiKey(key), {
    ...{ apiKeyId: id, owner: account, account: accountKey(account), permissions: 31, label: 'Test', preview: '' },
    ...{ issuedAt: '2026-01-01T00:00:00.000Z' as Timestamp, ...change },
  });

/** A process. No process projects. */
async function openProcess() {
  const credentials: Credentials = await openCredentials({ events: events(), documents, readModels });
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
  unreachable = undefined;
  reads = 0;
  shownKeys = new Map();
  closing = new AbortController();
  const ask = async () => {
    if (unreachable !== undefined) throw unreachable;
  };
  watch = watchOutage(ask, closing.signal, {});
});
afterEach(async () => {
  closing.abort();
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

describe('while the log is unavailable', () => {
  /** Until the log has been down for as long as a request may wait for it. */
  const stopLog = () => {
    unreachable = new Error('No route to host');
    watch.suspect(unreachable, performance.now() - 1_500);
  };

  test('a valid key stays valid, a revoked one revoked, and no request asks the log', async () => {
    const { authenticate, issue, revoke } = await openProcess();
    const [valid, revoked] = [await issue(), await issue()];
    await revoke(revoked.apiKeyId);
    expect(await authenticate(valid.key)).toBeDefined();
    expect(await authenticate(revoked.key)).toBeUndefined();
    stopLog();
    reads = 0;
    for (let second = 0; second < 2; second += 1) {
      await delay(1_050);
      expect(await authenticate(valid.key)).toMatchObject({ permissions: 31 });
      expect(await authenticate(revoked.key)).toBeUndefined();
    }
    expect(reads).toBe(0);
  });

  test('the first read detects the outage, and reads ask the log again once it answers', async () => {
    const { authenticate, issue } = await openProcess();
    const { key } = await issue();
    expect(await authenticate(key)).toBeDefined();
    unreachable = new Error('No route to host');
    await delay(1_050);
    expect(await authenticate(key)).toBeDefined();
    expect(watch.since()).toBeDefined();
    unreachable = undefined;
    await eventually(() => expect(watch.since()).toBeUndefined());
    reads = 0;
    await eventually(async () => {
      await authenticate(key);
      expect(reads).toBe(1);
    });
  });

  test('a key not seen before has the state in the read model, and does not count as invalid if the read model lacks it', async () => {
    const { authenticate, issue } = await openProcess();
    const [unseen, unshown, revokedBefore] = [await issue(), await issue(), await issue()];
    show(unseen, {});
    show(revokedBefore, { revokedAt: '2026-01-01T00:00:00.000Z' as Timestamp });
    stopLog();
    expect(await authenticate(unseen.key)).toMatchObject({
      permissions: 31,
      credential: { kind: 'apiKey', id: unseen.apiKeyId },
    });
    expect(await authenticate(revokedBefore.key)).toBeUndefined();
    await expect(authenticate(unshown.key)).rejects.toThrow(Unavailable);
    await expect(authenticate(makeApiKey())).rejects.toThrow(Unavailable);
  });

  test('a revocation counts if only the read model has it, or only this process', async () => {
    const { authenticate, issue, revoke } = await openProcess();
    const [shown, ours] = [await issue(), await issue()];
    for (const { key } of [shown, ours]) expect(await authenticate(key)).toBeDefined();
    show(ours, {});
    await revoke(ours.apiKeyId);
    stopLog();
    await delay(1_050);
    expect(await authenticate(shown.key)).toBeDefined();
    show(shown, { revokedAt: '2026-01-01T00:00:00.000Z' as Timestamp });
    await delay(1_050);
    expect(await authenticate(shown.key)).toBeUndefined();
    expect(await authenticate(ours.key)).toBeUndefined();
  });
});
