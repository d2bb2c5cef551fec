import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import type { AnyProjection } from '../../projections/projection.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { openEventStoreDb } from '../../src/event-store/eventstoredb/event-store.ts';
import { startHeartbeats } from '../../src/leases/heartbeats.ts';
import { openProjector } from '../../src/projector/projector.ts';
import type { NodeStatus } from '../../src/read-models/node-status.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { EventStoreDbServer } from '../event-store/eventstoredb/server.ts';
import { eventually } from '../eventually.ts';
import { IDLE } from '../node-status.ts';
import { counts } from '../projector/space-trails.ts';

/** How long the server takes to start a subscription. */
const SLOW_MS = 1_500;
/** Answers of the starting process, once it answers. */
const ANSWERS = 100;

const EVENT = {
  type: 'SpaceChanged',
  data: { spaceId: 0, communityId: 0 },
  metadata: { at: '2026-12-01T11:00:00.000Z', actor: { kind: 'system' }, correlationId: 'c', schema: 1 },
};

async function setUp() {
  const folder = await mkdtemp(join(tmpdir(), 'venue-starting-'));
  const server = await EventStoreDbServer.start();
  const ends: (() => Promise<unknown>)[] = [];
  onTestFinished(async () => {
    for (const end of ends.reverse()) await end();
    await server.stop();
    await rm(folder, { recursive: true });
  });

  /** A process of a release that reads this version of the read model. */
  async function start(version: number) {
    const documents = await openSqliteDocumentStore({ folder });
    const events = await openEventStoreDb({ url: server.url });
    const projection = { ...counts, version };
    const projections: readonly AnyProjection[] = [projection];
    const status: NodeStatus = IDLE;
    const heartbeats = await startHeartbeats<NodeStatus>({ documents, status });
    const logger = pino({ level: 'silent' });
    const projector = await openProjector({ events, documents, projections, heartbeats, logger, tickMs: 20 });
    projector.start();
    let running = true;
    const stop = async () => {
      if (!running) return;
      running = false;
      await projector.stop();
      await heartbeats.stop();
      await events.close();
      await documents.close();
    };
    ends.push(stop);
    return {
      events,
      heartbeats,
      projector,
      stop,
      /** The number of events that the read model shows; undefined if it cannot be read now. */
      shown: () =>
        projector.readModels
          .collection(projection)
          .get('0')
          .then(
            (found) => found?.events ?? 0,
            (error: unknown) => {
              expect(error).toBeInstanceOf(Unavailable);
              return undefined;
            },
          ),
    };
  }
  return { server, start };
}

test('a process that starts beside another release shows all that was confirmed before its start, or refuses to answer', async () => {
  const { server, start } = await setUp();
  const [before, other] = [await start(1), await start(2)];
  for (const { projector } of [before, other]) await projector.readModels.readable(10_000);
  let appended = 0;
  /** Acts as a command does: appends, and answers once the read models show the event. */
  async function change(): Promise<void> {
    const expectedRevision = appended === 0 ? 'none' : appended - 1;
    const { position } = await other.events.append('space-0', [EVENT], { expectedRevision });
    appended += 1;
    expect(await other.projector.readModels.waitFor(position)).toBe(true);
  }
  // Both are up to date, and from now on only the subscription of the starting process is slow.
  await change();
  await eventually(async () => expect(await before.shown()).toBe(1));
  await before.stop();
  for (let round = 0; round < 5; round += 1) await change();
  server.subscriptionDelayMs = SLOW_MS;

  const starting = await start(1);
  const confirmed = appended;
  let writing = true;
  const writer = (async () => {
    while (writing) await change();
  })();
  const answers: (number | undefined)[] = [];
  while (answers.filter((answer) => answer !== undefined).length < ANSWERS) {
    answers.push(await starting.shown());
    await sleep(5);
  }
  writing = false;
  await writer;
  expect(answers[0]).toBeUndefined();
  for (const answer of answers) expect(answer ?? confirmed).toBeGreaterThanOrEqual(confirmed);
});
