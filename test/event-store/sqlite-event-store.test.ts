import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteEventStore } from '../../src/event-store/sqlite-event-store.ts';
import { eventStoreContract } from '../contract/event-store.ts';
import { reportEngine } from '../engines.ts';

reportEngine('event store', 'SQLite', 'tested');

eventStoreContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'event-log-'));
  return {
    open: () => openSqliteEventStore({ path: join(folder, 'events.db') }),
    stop: () => rm(folder, { recursive: true }),
  };
});
