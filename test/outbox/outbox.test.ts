import { expect, test } from 'vitest';
import { startHeartbeats } from '../../src/leases/heartbeats.ts';
import { openOutbox, type Sending } from '../../src/outbox/outbox.ts';
import { eventually } from '../eventually.ts';
import { IDLE } from '../node-status.ts';
import { newDocumentsDisk, openMemoryDocuments } from '../simulation/memory-documents.ts';
import { newEventsDisk, openMemoryEvents } from '../simulation/memory-events.ts';
import { requested } from '../webhooks/deliverable-events.ts';

const WHAT = { kinds: ['BookingRequested'], groups: [], reads: [], ping: async () => {} };

/** Two processes on a log with one event. */
async function open() {
  const disk = newDocumentsDisk();
  const events = openMemoryEvents(newEventsDisk());
  const { type, data, metadata } = JSON.parse(JSON.stringify(requested()));
  await events.append('booking', [{ type, data, metadata }], { expectedRevision: 'none' });
  const calls: string[] = [];
  const errors: string[] = [];

  async function openProcess(name: string, sending: Partial<Sending> = {}) {
    const documents = openMemoryDocuments(disk);
    const heartbeats = await startHeartbeats({ documents, status: IDLE, silenceMs: 400 });
    const note = (level: string) => (details: unknown, text?: string) => {
      errors.push(`${level}: ${text}: ${Object(details).err}`);
    };
    const outbox = await openOutbox(
      {
        events,
        documents,
        heartbeats,
        readModels: { waitFor: async () => true },
        clock: Date.now,
        logger: { info: () => {}, warn: note('warn'), error: note('error') },
        tuning: { pollIntervalMs: 5, markEveryMs: 5, failureDelaysMs: [1, 2] },
      },
      'webhooks',
    );
    const call = (what: string) => async () => void calls.push(`${name} ${what}`);
    let isActive = () => false;
    return {
      outbox,
      isActive: () => isActive(),
      start: () =>
        outbox.start(WHAT, async (given) => {
          isActive = given;
          return { start: call('starts'), handle: call('handles'), stop: call('stops'), ...sending };
        }),
      async stop() {
        await outbox.stop();
        await heartbeats.stop();
      },
    };
  }
  return { calls, errors, openProcess };
}

test('one process sends what is stored, then handles events; the other takes over once it has stopped', async () => {
  const { calls, openProcess } = await open();
  const [first, second] = [await openProcess('first'), await openProcess('second')];
  first.start();
  await eventually(() => expect(calls).toEqual(['first starts', 'first handles']));
  expect(first.isActive()).toBe(true);
  second.start();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(calls).toHaveLength(2);
  await first.stop();
  expect(first.isActive()).toBe(false);
  await eventually(() => expect(calls.slice(2)).toEqual(['first stops', 'second starts']));
  await second.stop();
  expect(calls.at(-1)).toBe('second stops');
});

test('what cannot start sending is stopped, handles nothing, and is tried again', async () => {
  const { calls, errors, openProcess } = await open();
  let tries = 0;
  const { start, stop } = await openProcess('first', {
    async start() {
      tries += 1;
      if (tries === 1) throw new Error('the records are away');
      calls.push('first starts');
    },
  });
  start();
  await eventually(() => expect(calls).toEqual(['first stops', 'first starts', 'first handles']));
  expect(errors).toEqual(['error: A role could not be run; retrying: Error: the records are away']);
  await stop();
});

test('an event that fails is tried again after the pauses that are set', async () => {
  const { openProcess } = await open();
  let tries = 0;
  const { outbox, start, stop } = await openProcess('first', {
    async handle() {
      tries += 1;
      throw new Error('a broken template');
    },
  });
  start();
  await eventually(async () => expect(await outbox.failedEvents.count()).toEqual({ parked: 1, retrying: 0 }));
  expect(tries).toBe(3);
  await stop();
});

test('one that was never started stops', async () => {
  const { openProcess } = await open();
  await (await openProcess('first')).stop();
});
