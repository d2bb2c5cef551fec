import { openEventStoreDb } from '../../src/event-store/eventstoredb.ts';
import { eventStoreContract } from '../contract/event-store.ts';
import { reportEngine } from '../engines.ts';
import { EventStoreDbServer } from './eventstoredb-server.ts';

reportEngine('event store', 'EventStoreDB client against the gRPC test server', 'tested');

eventStoreContract('EventStoreDB, gRPC test server', async () => {
  const server = await EventStoreDbServer.start();
  return { open: () => openEventStoreDb({ url: server.url }), stop: () => server.stop() };
});
