import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { EventStore } from '../../../src/event-store/event-store.ts';
import { openEventStoreDb } from '../../../src/event-store/eventstoredb/event-store.ts';
import { OutcomeUnknown, Unavailable } from '../../../src/runtime/unavailable.ts';
import { eventually } from '../../eventually.ts';
import { EventStoreDbServer } from './server.ts';

const MADE = { type: 'Made', data: {}, metadata: {} };
let server: EventStoreDbServer;
let events: EventStore;

beforeEach(async () => {
  server = await EventStoreDbServer.start();
  onTestFinished(() => server.stop());
  events = await openEventStoreDb({ url: server.url, deadlineMs: 200 });
  onTestFinished(() => events.close());
});

const failed = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'not failed',
    (error: unknown) => error,
  );

test('the outcome of an append that is never acknowledged is unknown', async () => {
  server.appendFaults.push(...Array.from({ length: 20 }, () => 'neither stored nor acknowledged' as const));
  const error = await failed(events.append('thing', [MADE], { expectedRevision: 'none' }));
  expect(error).toBeInstanceOf(OutcomeUnknown);
  expect(error).toHaveProperty('publicMessage', expect.stringContaining('whether this was done is not known'));
});

test('a read that is never answered reports an unreadable log, not an empty one', async () => {
  await events.append('thing', [MADE], { expectedRevision: 'none' });
  server.unresponsive = true;
  for (const read of [events.readStream('thing'), events.readAll()]) {
    const error = await failed(Array.fromAsync(read));
    expect(error).toBeInstanceOf(Unavailable);
    expect(error).not.toBeInstanceOf(OutcomeUnknown);
  }
  server.unresponsive = false;
});

test('once an outage outlasts an election, calls fail immediately', async () => {
  const patient = await openEventStoreDb({ url: server.url, deadlineMs: 600_000, patienceMs: 200 });
  onTestFinished(() => patient.close());
  await server.disconnect();
  patient.outage.suspect('disconnected', performance.now() - 200);
  expect(await failed(patient.append('other', [MADE], { expectedRevision: 'none' }))).toBeInstanceOf(Unavailable);
  for (const read of [patient.readStream('thing'), patient.readAll()])
    expect(await failed(Array.fromAsync(read))).toBeInstanceOf(Unavailable);
  await server.connect();
  await eventually(() => expect(patient.outage.since()).toBeUndefined());
  await patient.append('third', [MADE], { expectedRevision: 'none' });
});
