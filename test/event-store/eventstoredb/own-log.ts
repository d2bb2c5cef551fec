import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import type { OperatedEventStore } from '../../../src/event-store/event-store.ts';
import { openEventStoreDb } from '../../../src/event-store/eventstoredb/event-store.ts';
import { givenServer } from '../../given-servers.ts';
import { EventStoreDbServer } from './server.ts';

/** A log for one test, which other applications have written to. */
export type OwnLog = {
  /** The settings of a service that uses it. */
  readonly settings: { readonly EVENTSTORE_URL: string; readonly EVENTSTORE_PREFIX: string };
  open(): Promise<OperatedEventStore>;
  /** The EventStoreDB client itself, to be disposed of, and its full names for a stream, a group and a type. */
  client(): EventStoreDBClient;
  onServer(name: string): string;
  stop(): Promise<void>;
};

/**
 * Under its own prefix in the EventStoreDB at `EVENTSTORE_URL`, or on a test server.
 * @param options.forProxy whether tests reach it through a proxy, which does not work with a cluster or with TLS
 */
export async function createOwnLog({ forProxy = false } = {}): Promise<OwnLog> {
  const url = givenServer('EVENTSTORE_URL');
  const isPlain = /^[^,]+\?(.*&)?tls=false/.test(url) && !url.includes('+discover');
  const given = forProxy && !isPlain ? '' : url;
  const server = given === '' ? await EventStoreDbServer.start() : undefined;
  const used = server?.url ?? given;
  const prefix = `test-${randomUUID().slice(0, 13)}`;
  const client = () => EventStoreDBClient.connectionString(used.replace(/^kurrent(db)?(?=[:+])/, 'esdb'));
  await writeAsAnother(client());
  return {
    settings: { EVENTSTORE_URL: used, EVENTSTORE_PREFIX: prefix },
    open: () => openEventStoreDb({ url: used, prefix }),
    client,
    onServer: (name) => `${prefix}.${name}`,
    stop: async () => server?.stop(),
  };
}

/** What another application and another store have in the log: events of the same types, in streams with the same names. */
export async function writeAsAnother(client: EventStoreDBClient): Promise<void> {
  for (const stream of ['thing', `space-${randomUUID()}`, `other.space-${randomUUID()}`, `order-${randomUUID()}`])
    for (const type of ['Made', 'BookingRequested', 'other.BookingApproved'])
      await client.appendToStream(stream, jsonEvent({ type, data: { another: true } }));
  await client.dispose();
}
