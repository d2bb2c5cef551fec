import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { expect, onTestFinished, test } from 'vitest';
import { checkStore } from '../../src/audit/check-store.ts';
import { openSealRecords } from '../../src/audit/seal-records.ts';
import { openSealing } from '../../src/audit/sealing.ts';
import { openEvents } from '../../src/engines.ts';
import type { EventStore, StoredEvent } from '../../src/event-store/event-store.ts';
import { startHeartbeats } from '../../src/leases/heartbeats.ts';
import { documentEngines } from '../document-store/engines.ts';
import { EventStoreDbServer } from '../event-store/eventstoredb/server.ts';
import { SECRET_KEY, someFolder } from './sealed-store.ts';

const logger = { warn: () => {} };
const [createDatabase] = documentEngines.toReversed().map(([, create]) => create);

/** Seals a log on documents of its own. */
async function sealed(events: EventStore) {
  if (createDatabase === undefined) throw new Error('There is no engine for documents');
  const database = await createDatabase();
  const documents = await database.open();
  const heartbeats = await startHeartbeats<object>({ documents, status: {} });
  onTestFinished(async () => {
    await heartbeats.stop();
    await database.remove();
    await events.close();
  });
  const settings = { sealWebhook: undefined, sealFile: undefined, sealFileLeaves: false };
  const ambient = { documents, heartbeats, secretKey: SECRET_KEY, settings, clock: Date.now, logger };
  const { seal } = await openSealing({ ...ambient, events, logId: async () => 'the-log' });
  return { seal, documents, records: await openSealRecords(documents) };
}

const made = (n: number, stream: string) => ({
  event: {
    id: randomUUID(),
    type: n % 2 === 0 ? 'SpaceAdded' : 'LaterKind',
    data: { n, name: 'Zoë’s 東 😀' },
    metadata: { n },
  },
  stream,
});

/** What a store holds, that of a later release included. */
const EVENTS = Array.from({ length: 300 }, (_, n) =>
  made(n, ['space-1', 'member-a', 'subject-brand:1', 'venue_waitingList-7'][n % 4] ?? ''),
);

async function appendAll(events: EventStore, meanwhile: () => Promise<void> = async () => {}): Promise<void> {
  const revisions = new Map<string, number>();
  for (const { event, stream } of EVENTS) {
    const revision = revisions.get(stream);
    await events.append(stream, [event], { expectedRevision: revision ?? 'none' });
    revisions.set(stream, (revision ?? -1) + 1);
    await meanwhile();
  }
}

test('the tree is the same on every engine, with any prefix and beside foreign events', async () => {
  const embedded = await openEvents({ dataDir: await someFolder() } as Parameters<typeof openEvents>[0], logger);
  await appendAll(embedded);
  const head = await (await sealed(embedded)).seal();
  expect(head?.size).toBe(300);
  const rootIn = (note = ''): string | undefined => note.split('\n')[2];

  const server = await EventStoreDbServer.start();
  const client = EventStoreDBClient.connectionString(server.url);
  onTestFinished(async () => {
    await client.dispose();
    await server.stop();
  });
  /** Other applications, also by names that look like ours, and another store that has a prefix. */
  let others = 0;
  const meanwhile = async (isElsewhere = true) => {
    others += 1;
    if (others % 10 !== 0) return;
    for (const stream of [`order-${others}`, `other.space-${others}`, `venue_x.space-${others}`, `venue-${others}`])
      for (const type of ['SpaceAdded', 'other.SpaceAdded'])
        await client.appendToStream(stream, jsonEvent({ type, data: { others } }));
    // That of the store without a prefix.
    if (isElsewhere) await client.appendToStream('space-1', jsonEvent({ type: 'SpaceAdded', data: { others } }));
  };
  for (const eventStorePrefix of [undefined, 'mine']) {
    const config = { dataDir: '', eventStoreUrl: server.url, eventStorePrefix, mongoUrl: undefined };
    const events = await openEvents(config, logger);
    await appendAll(events, () => meanwhile(eventStorePrefix !== undefined));
    const { seal, documents } = await sealed(events);
    const there = await seal();
    expect(there?.size, eventStorePrefix).toBe(300);
    expect(rootIn(there?.note), eventStorePrefix).toBe(rootIn(head?.note));
    await meanwhile();
    expect(await seal()).toEqual(there);
    const last: StoredEvent[] = await Array.fromAsync(events.readStream('space-1'));
    await events.append('space-1', [{ type: 'SpaceClosed', data: {}, metadata: {} }], {
      expectedRevision: last.at(-1)?.revision ?? 'none',
    });
    expect((await seal())?.size).toBe(301);
    const all = { seals: true, checkpoints: [], leaves: [] };
    expect(await checkStore({ events, documents, ...all })).toMatchObject({ events: 301, confirmed: 2, findings: [] });
  }
});
