import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createApiKeyAuthentication } from '../../src/auth/authenticate.ts';
import { createApiKeyCommands } from '../../src/commands/api-keys.ts';
import { createCommandHandler } from '../../src/commands/command-handler.ts';
import { openCredentials } from '../../src/credentials/credentials.ts';
import { createLogFollower } from '../../src/credentials/follow-log.ts';
import { addAllMissingRecords, addMissingRecords, ENDED, ISSUED_KEYS } from '../../src/credentials/records.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { OPERATOR } from '../../src/domain/account.ts';
import { brandId } from '../../src/domain/ids.ts';
import { streamOf } from '../../src/domain/streams.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import type { ReadModels } from '../../src/read-models/read-models.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { apiKeyFormat } from '../../src/secrets/credential-format.ts';
import { eventually } from '../eventually.ts';

const context = { actor: OPERATOR, correlationId: 'test' };
const account = { kind: 'Brand', id: brandId(1) } as const;

let folder: string;
let documents: OperatedDocumentStore;
let events: EventStore;
/** While this is set, no ended credential can be recorded. */
let isFull: boolean;

/** No read model shows a key. */
const NO_READ_MODELS = { collection: () => ({ list: async () => [] }) } as unknown as ReadModels;

/** A process. No process projects. */
async function openProcess() {
  const credentials = await openCredentials(documents);
  const handler = createCommandHandler({ events, clock: Date.now, waitFor: () => new Promise(() => {}) });
  const commands = await createApiKeyCommands({
    documents,
    readModels: NO_READ_MODELS,
    settings: { apiKeysPerAccount: 1_000 },
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

/** Appends the event that ends a key, as a process that dies before it records that. */
async function endWithoutRecord(id: string): Promise<void> {
  const metadata = { at: '2026-01-01T00:00:00.000Z', actor: { ...OPERATOR }, correlationId: 'c', schema: 1 };
  const data = { apiKeyId: id, account: { ...account } };
  await events.append(streamOf.apiKey(id), [{ type: 'ApiKeyRevoked', data, metadata }], { expectedRevision: 0 });
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
    await events.close();
    const { authenticate } = await openProcess();
    expect(await authenticate(valid.key)).toMatchObject({ permissions: 31 });
    expect(await authenticate(revoked.key)).toBeUndefined();
    expect(await authenticate(apiKeyFormat.make())).toBeUndefined();
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

test('what a process that died has not recorded is added by the process that projects, and by no other', async () => {
  const { authenticate, issue } = await openProcess();
  const { key, apiKeyId: id } = await issue();
  const other = await issue();
  let isActive = false;
  const projector = { isActive: () => isActive };
  const follower = createLogFollower({ events, documents, projector, logger: pino({ level: 'silent' }) });
  follower.start();
  onTestFinished(() => follower.stop());
  await endWithoutRecord(id);
  const removed = { type: 'WebhookRemoved', data: {}, metadata: { schema: 1 } };
  await events.append(streamOf.webhook('wh_old'), [removed], { expectedRevision: 'none' });
  const ended = await documents.open(ENDED);
  await sleep(600);
  expect(await ended.get(id)).toBeUndefined();
  isActive = true;
  await eventually(async () => expect(await authenticate(key)).toBeUndefined());
  expect((await ended.get(id))?.document).toEqual({ by: 'ApiKeyRevoked' });
  expect((await ended.get('wh_old'))?.document).toEqual({ by: 'WebhookRemoved' });
  // The next one, as soon as its event is in the log.
  expect(await authenticate(other.key)).toBeDefined();
  await endWithoutRecord(other.apiKeyId);
  await eventually(async () => expect(await authenticate(other.key)).toBeUndefined());
});

test('the later event says whether a brand is suspended, in whatever order they are recorded, and after a restore the log', async () => {
  const append = async (type: 'BrandSuspended' | 'BrandReinstated', expectedRevision: number | 'none') => {
    const metadata = { at: '2026-01-01T00:00:00.000Z', actor: { ...OPERATOR }, correlationId: 'c', schema: 1 };
    const stream = streamOf.brand(account.id);
    return (await events.append(stream, [{ type, data: { brandId: 1 }, metadata }], { expectedRevision })).position;
  };
  const isSuspended = async () => (await openCredentials(documents)).isSuspended(account);
  const credentials = await openCredentials(documents);
  expect(await credentials.isSuspended(account)).toBe(false);
  const first = await append('BrandSuspended', 'none');
  await addMissingRecords({ events, documents });
  expect(await isSuspended()).toBe(true);
  await eventually(async () => expect(await credentials.isSuspended(account)).toBe(true));

  const second = await append('BrandReinstated', 0);
  await credentials.setSuspended(account, { isSuspended: false, position: second });
  expect(await credentials.isSuspended(account)).toBe(false);
  // A process that was frozen since the first event.
  await credentials.setSuspended(account, { isSuspended: true, position: first });
  expect(await isSuspended()).toBe(false);
  await addMissingRecords({ events, documents });
  expect(await isSuspended()).toBe(false);

  await credentials.setSuspended(account, { isSuspended: true, position: `${second}9` });
  expect(await isSuspended()).toBe(true);
  await addAllMissingRecords({ events, documents });
  expect(await isSuspended()).toBe(false);
});

test('records that were restored from an older copy are completed from the log', async () => {
  const { issue } = await openProcess();
  const [lost, revoked] = [await issue(), await issue()];
  await endWithoutRecord(revoked.apiKeyId);
  const keys = await documents.open(ISSUED_KEYS);
  await keys.delete(apiKeyFormat.hash(lost.key));
  await addMissingRecords({ events, documents });
  const { authenticate } = await openProcess();
  expect(await authenticate(lost.key)).toMatchObject({ account, permissions: 31 });
  expect(await authenticate(revoked.key)).toBeUndefined();
});
