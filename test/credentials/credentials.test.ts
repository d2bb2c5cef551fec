import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createApiKeyAuthentication } from '../../src/auth/authenticate.ts';
import { createApiKeyCommands } from '../../src/commands/api-keys.ts';
import { createCommandHandler } from '../../src/commands/command-handler.ts';
import { openCredentials } from '../../src/credentials/credentials.ts';
import { createLogFollower } from '../../src/credentials/follow-log.ts';
import { addMissingRecords, ENDED, ISSUED_KEYS } from '../../src/credentials/records.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { OPERATOR } from '../../src/domain/account.ts';
import type { ApiKeyEvent } from '../../src/domain/events.ts';
import { apiKeyId, brandId } from '../../src/domain/ids.ts';
import { streamOf } from '../../src/domain/streams.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import type { ReadModels } from '../../src/read-models/read-models.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { hashApiKey, makeApiKey, previewApiKey } from '../../src/secrets/api-key-format.ts';
import { eventually } from '../eventually.ts';

const context = { actor: OPERATOR, correlationId: 'test' };
const account = { kind: 'Brand', id: brandId(1) } as const;

let folder: string;
let documents: OperatedDocumentStore;
let events: EventStore;
/** While this is set, no ended credential can be recorded. */
let isFull: boolean;

/** No read model shows a key. */
const NO_READ_MODELS = { collection: () => ({ async *find() {} }) } as unknown as ReadModels;

/** A process. No process projects. */
async function openProcess(log: Pick<EventStore, 'readAll' | 'lastEvent'> = events) {
  const credentials = await openCredentials({ events: log, documents });
  const handler = createCommandHandler({ events, clock: Date.now, waitFor: () => new Promise(() => {}) });
  const commands = await createApiKeyCommands({
    documents,
    readModels: NO_READ_MODELS,
    clock: Date.now,
    perAccount: 1_000,
    handler: {
      ...handler,
      execute: (stream, kind, by, decide, options) =>
        handler.execute(stream, kind, by, decide, { ...options, waits: false }),
    },
    credentials: {
      ...credentials,
      async end(id, by) {
        if (isFull) throw new Unavailable('The disk is full');
        await credentials.end(id, by);
      },
    },
  });
  return {
    authenticate: createApiKeyAuthentication(credentials),
    revoke: (id: string) => commands.revoke({ apiKeyId: id }, context),
    async issue() {
      const issued = await commands.issue({ account, permissions: 31, label: 'Test' }, context);
      if ('refused' in issued) throw new Error(issued.details);
      return issued;
    },
  };
}

/** Appends an event of a key as a process of an earlier release does, which records no more than the id of an issued key. */
async function appendAsEarlier(type: ApiKeyEvent['type'], id: string, hash: string): Promise<void> {
  if (type === 'ApiKeyIssued') await (await documents.open(ISSUED_KEYS)).insert(hash, { apiKeyId: apiKeyId(id) });
  const metadata = { at: '2026-01-01T00:00:00.000Z', actor: { ...OPERATOR }, correlationId: 'c', schema: 1 };
  const issued = { permissions: 2, label: 'Old', preview: previewApiKey('vbs_live_0') };
  const data = { apiKeyId: id, account: { ...account }, hash, ...(type === 'ApiKeyIssued' && issued) };
  const expectedRevision = type === 'ApiKeyIssued' ? 'none' : 0;
  await events.append(streamOf.apiKey(id), [{ type, data, metadata }], { expectedRevision });
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-credentials-'));
  documents = await openSqliteDocumentStore({ folder });
  events = await openSqliteEventStore({ path: join(folder, 'events.db') });
  isFull = false;
});
afterEach(async () => {
  await events.close();
  await documents.close();
  await rm(folder, { recursive: true });
});

describe('an API key, while nothing projects', () => {
  test('works immediately in every process, and stops working in every process', async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    const { key, apiKeyId: id } = await one.issue();
    for (const { authenticate } of [one, other])
      expect(await authenticate(key)).toMatchObject({ account, permissions: 31, credential: { id } });

    await one.revoke(id);
    expect(await one.authenticate(key)).toBeUndefined();
    await eventually(async () => expect(await other.authenticate(key)).toBeUndefined());
  });

  test('needs no log, not even in a process that has not seen it before', async () => {
    const { issue, revoke } = await openProcess();
    const [valid, revoked] = [await issue(), await issue()];
    await revoke(revoked.apiKeyId);
    const unavailable = () => {
      throw new Unavailable('No route to host');
    };
    const { authenticate } = await openProcess({ readAll: unavailable, lastEvent: unavailable });
    expect(await authenticate(valid.key)).toMatchObject({ permissions: 31 });
    expect(await authenticate(revoked.key)).toBeUndefined();
    expect(await authenticate(makeApiKey())).toBeUndefined();
  });

  test('counts as revoked only once that is recorded, and revoking it again records it', async () => {
    const { authenticate, issue, revoke } = await openProcess();
    const { key, apiKeyId: id } = await issue();
    isFull = true;
    await expect(revoke(id)).rejects.toThrow('The disk is full');
    await expect(revoke(id)).rejects.toThrow('The disk is full');
    isFull = false;
    expect(await revoke(id)).toBeUndefined();
    expect(await authenticate(key)).toBeUndefined();
  });
});

describe('a key of an earlier release, which records only the id', () => {
  test('works at once in a process that runs beside it, and stops once it is revoked there', async () => {
    const { authenticate } = await openProcess();
    const follower = createLogFollower({ events, documents, logger: pino({ level: 'silent' }) });
    follower.start();
    const key = makeApiKey();
    await appendAsEarlier('ApiKeyIssued', 'key_old', hashApiKey(key));
    expect(await authenticate(key)).toMatchObject({ permissions: 2, credential: { id: 'key_old' } });
    expect(await authenticate(makeApiKey())).toBeUndefined();

    await appendAsEarlier('ApiKeyRevoked', 'key_old', hashApiKey(key));
    await eventually(async () => expect(await authenticate(key)).toBeUndefined());
    await follower.stop();
  });

  test('is refused from the start if it was revoked before, or if a process died before it recorded that', async () => {
    const { authenticate, issue } = await openProcess();
    const { key, apiKeyId: id } = await issue();
    expect(await authenticate(key)).toBeDefined();
    await appendAsEarlier('ApiKeyRevoked', id, hashApiKey(key));
    const old = makeApiKey();
    await appendAsEarlier('ApiKeyIssued', 'key_old', hashApiKey(old));
    await appendAsEarlier('ApiKeyRevoked', 'key_old', hashApiKey(old));

    const removed = { type: 'WebhookRemoved', data: {}, metadata: { schema: 1 } };
    await events.append(streamOf.webhook('wh_old'), [removed], { expectedRevision: 'none' });

    await addMissingRecords({ events, documents });
    const started = await openProcess();
    for (const revoked of [key, old]) expect(await started.authenticate(revoked)).toBeUndefined();
    const ended = await documents.open(ENDED);
    expect((await ended.get(id))?.document).toEqual({ by: 'ApiKeyRevoked' });
    expect((await ended.get('wh_old'))?.document).toEqual({ by: 'WebhookRemoved' });
  });
});
