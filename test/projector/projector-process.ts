/**
 * A projector in a separate process, for tests to kill or stop: `node projector-process.ts FOLDER`.
 * Prints `projecting` when it has the lease.
 */
import { join } from 'node:path';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { openProjector } from '../../src/projector/projector.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { counts, trails } from './space-trails.ts';

const [folder = ''] = process.argv.slice(2);
const clock = systemClock();
const projector = await openProjector({
  events: await openSqliteEventStore({ path: join(folder, 'events.sqlite') }),
  documents: await openSqliteDocumentStore({ folder, clock }),
  projections: [trails(), counts],
  clock,
  leaseMs: 600,
  tickMs: 50,
  logger: {
    info: (_: unknown, message?: string) => message === 'Projecting' && console.log('projecting'),
    warn: () => {},
    error: (details: unknown) => console.log('error', details),
  },
});
projector.start();
process.on('SIGTERM', async () => {
  await projector.stop();
  process.exit(0);
});
