import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { startHeartbeats } from '../../src/leases/heartbeats.ts';
import { openProjector } from '../../src/projector/projector.ts';
import type { NodeStatus } from '../../src/read-models/node-status.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { IDLE } from '../node-status.ts';
import { appendEvent, counts, trails } from '../projector/space-trails.ts';

test('a command never misses its own change in a read model that it reads for the first time after the change', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'venue-command-'));
  const documents = await openSqliteDocumentStore({ folder });
  const events = await openSqliteEventStore({ path: join(folder, 'events.sqlite') });
  const status: NodeStatus = { ...IDLE, kind: 'tool' };
  const heartbeats = await startHeartbeats<NodeStatus>({ documents, status });
  const projections = [trails(), counts];
  const logger = pino({ level: 'silent' });
  const command = { events, documents, projections, heartbeats, logger, kind: 'tool', tickMs: 20 } as const;
  const { readModels, ...projector } = await openProjector({ ...command, catchUpWithinMs: 500 });
  onTestFinished(async () => {
    await heartbeats.stop();
    await events.close();
    await documents.close();
    await rm(folder, { recursive: true });
  });
  await appendEvent(events, 3, 'SpaceAdded');
  projector.start();
  const count = await readModels.collection(counts).get('0');
  expect(count?.events).toBe(1);
  await projector.stop();

  await appendEvent(events, 3, 'SpaceChanged');
  await expect(readModels.collection(trails()).get('3')).rejects.toThrow(Unavailable);
});
