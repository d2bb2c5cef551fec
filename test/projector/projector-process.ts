/**
 * A projector in a separate process, for tests to kill or stop: `node projector-process.ts FOLDER [DOCUMENTS]`; read models are built
 * in bulk with steps of so many documents.
 * Prints `projecting` when it looks after the read models.
 */
import { join } from 'node:path';
import { startHeartbeats } from '../../src/document-store/heartbeats.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { openProjector } from '../../src/projector/projector.ts';
import type { Said } from '../../src/read-models/read-models.ts';
import { counts, trails } from './space-trails.ts';

const [folder = '', step] = process.argv.slice(2);
const documents = await openSqliteDocumentStore({ folder });
const said: Said = { kind: 'service', projects: false, wants: [], reads: [] };
const heartbeats = await startHeartbeats<Said>({ documents, said, silenceMs: 600 });
const projector = await openProjector({
  events: await openSqliteEventStore({ path: join(folder, 'events.sqlite') }),
  documents,
  heartbeats,
  projections: [trails(), counts],
  tickMs: 50,
  ...(step !== undefined && { bulk: { fromEvents: 10, stepDocuments: Number(step) } }),
  logger: {
    info: (_: unknown, message?: string) => message === 'Looking after read models' && console.log('projecting'),
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
