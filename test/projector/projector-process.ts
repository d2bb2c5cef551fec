/**
 * A projector in a separate process, for tests to kill or stop: `node projector-process.ts FOLDER [EVENTS]`; read models are
 * built in batches of so many events.
 * Prints `projecting` when it keeps the read models up to date.
 */
import { join } from 'node:path';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { startHeartbeats } from '../../src/leases/heartbeats.ts';
import { openProjector } from '../../src/projector/projector.ts';
import type { NodeStatus } from '../../src/read-models/node-status.ts';
import { IDLE } from '../node-status.ts';
import { counts, trails } from './space-trails.ts';

const [folder = '', batch] = process.argv.slice(2);
const documents = await openSqliteDocumentStore({ folder });
const status: NodeStatus = IDLE;
const heartbeats = await startHeartbeats<NodeStatus>({ documents, status, silenceMs: 600 });
const projector = await openProjector({
  events: await openSqliteEventStore({ path: join(folder, 'events.sqlite') }),
  documents,
  heartbeats,
  projections: [trails(), counts],
  tickMs: 50,
  ...(batch !== undefined && { buildBatch: Number(batch) }),
  logger: {
    info: (_: unknown, message?: string) => message === 'Keeping read models up to date' && console.log('projecting'),
    warn: () => {},
    error: (details: unknown) => console.log('error', details),
  },
});
projector.start();
process.on('SIGTERM', async () => {
  await projector.stop();
  await heartbeats.stop();
  process.exit(0);
});
