import { cp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { entriesOf, type GenerationId } from '../../src/read-models/generations.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { ask } from '../document-store/ask.ts';
import { changedStore } from '../event-store/changed-store.ts';
import { eventually } from '../eventually.ts';
import {
  appendMany,
  BOTH,
  catalogueOf,
  ends,
  events,
  eventsIn,
  expectToEqualTheLog,
  folder,
  GRACE_MS,
  liveOf,
  logOfEachTest,
  read,
  rebuildIn,
  start,
} from './projector.fixture.ts';
import { counts, trails } from './space-trails.ts';

logOfEachTest();

test('swaps to a rebuilt generation only once it has come as far as the live one', async () => {
  const documents = await openSqliteDocumentStore({ folder: join(folder, 'store') });
  ends.push(() => documents.close());
  let former: GenerationId | undefined;
  const gate = Promise.withResolvers<void>();
  const { readModels } = await start({
    ...documents,
    async project(generation, ...rest) {
      if (former !== undefined && generation !== former) await gate.promise;
      return documents.project(generation, ...rest);
    },
  });
  expect(await readModels.readable(10_000)).toBe(true);
  ends.push(async () => gate.resolve());
  former = await liveOf(documents);
  const rebuilt = rebuildIn(documents);
  await eventually(async () =>
    expect(entriesOf(await catalogueOf(documents)).map(([, { state }]) => state)).toContain('joining'),
  );
  await appendMany(1);
  await delay(2 * GRACE_MS);
  expect(await liveOf(documents)).toBe(former);
  gate.resolve();
  await rebuilt;
  expect(await liveOf(documents)).not.toBe(former);
  await expectToEqualTheLog(readModels, counts);
});

test('swaps to a rebuilt generation although only the live one was told of events of other applications', async () => {
  const documents = await openSqliteDocumentStore({ folder: join(folder, 'store') });
  ends.push(() => documents.close());
  /** The subscriptions that are told: those of the live generation. */
  let [isLive, isRebuilt] = [false, false];
  const { readModels } = await start(documents, BOTH, {
    events: changedStore(events, {
      async *subscribe(options) {
        const isOfRebuild = isRebuilt;
        // Behind our last event, as with a checkpoint of EventStoreDB that comes to one subscription alone.
        for await (const batch of events.subscribe(options))
          yield isLive && !isOfRebuild ? { ...batch, position: `${batch.position}-0` } : batch;
      },
    }),
  });
  expect(await readModels.readable(10_000)).toBe(true);
  isLive = true;
  expect(await readModels.waitFor(`${await appendMany(20)}-0`)).toBe(true);
  const former = await liveOf(documents);
  isRebuilt = true;
  await rebuildIn(documents);
  expect(await liveOf(documents)).not.toBe(former);
  await expectToEqualTheLog(readModels, counts);
});

test('refolds what a power failure took from the read models', async () => {
  const store = join(folder, 'store');
  const copy = join(folder, 'copy');
  const serve = async () => {
    const documents = await openSqliteDocumentStore({ folder: store });
    const projector = await start(documents, BOTH);
    return { ...projector, end: () => projector.stop().then(() => documents.close()) };
  };
  await appendMany(400, 40);
  const first = await serve();
  expect(await first.readModels.readable(20_000)).toBe(true);
  await first.readModels.waitFor(await appendMany(50, 40));
  await first.end();
  await cp(join(store, 'read-models'), copy, { recursive: true });
  const second = await serve();
  await second.readModels.waitFor(await appendMany(100, 40));
  await second.end();
  // The last writes to the generation are lost, including its checkpoint.
  for (const file of await readdir(copy)) await cp(join(copy, file), join(store, 'read-models', file));

  const documents = await openSqliteDocumentStore({ folder: store });
  ends.push(() => documents.close());
  const reading = await read(documents);
  expect((await reading.status()).lag).toBe(100);
  const third = await serve();
  ends.push(() => third.end());
  expect(await reading.waitFor(await appendMany(1))).toBe(true);
  await expectToEqualTheLog(reading, trails());
  await expectToEqualTheLog(reading, counts);
  await eventually(async () => expect(await eventsIn(documents)).toEqual([551]));
});

test('rebuilds read models that a power failure removed, and refuses reads until then', async () => {
  const open = async () => {
    const documents = await openSqliteDocumentStore({ folder });
    ends.push(() => documents.close());
    return documents;
  };
  await appendMany(400, 40);
  const first = await start(await open(), BOTH);
  expect(await first.readModels.readable(20_000)).toBe(true);
  await first.stop();
  await ends.pop()?.();
  for (const file of await readdir(join(folder, 'read-models'))) await rm(join(folder, 'read-models', file));

  const documents = await open();
  const reading = await read(documents);
  await expect(reading.collection(trails()).get('0')).rejects.toThrow(Unavailable);
  await expect(Array.fromAsync(reading.collection(trails()).find(ask()))).rejects.toThrow(Unavailable);
  await start(documents, BOTH);
  expect(await reading.waitFor(await appendMany(1), { projections: BOTH })).toBe(true);
  await expectToEqualTheLog(reading, trails());
  await expectToEqualTheLog(reading, counts);
});
