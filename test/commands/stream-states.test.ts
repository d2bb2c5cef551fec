import { expect, test } from 'vitest';
import { createStreamStates } from '../../src/commands/stream-states.ts';
import type { EventStore, StoredEvent } from '../../src/event-store/event-store.ts';

const EVENTS_PER_STREAM = 10;
const counting = { initial: 0, evolve: (count: number) => count + 1, sizeOf: (count: number) => count };

/** A log in which every stream has as many events. `reads` notes from where each stream was read. */
function countedLog() {
  const reads: string[] = [];
  const log: Pick<EventStore, 'readStream'> = {
    async *readStream(stream, { from = 0 } = {}) {
      reads.push(`${stream} from ${from}`);
      for (let revision = from; revision < EVENTS_PER_STREAM; revision += 1) yield eventOf(stream, revision);
    },
  };
  return { log, reads };
}

const eventOf = (stream: string, revision: number): StoredEvent => ({
  stream,
  revision,
  id: `${stream}-${revision}`,
  type: 'SpaceClosed',
  position: String(revision + 1),
  data: {},
  metadata: { schema: 1 },
});

test('the most recently used states are cached, up to a total size', async () => {
  const { log, reads } = countedLog();
  const states = createStreamStates(log, 2 * EVENTS_PER_STREAM);

  for (const stream of ['a', 'b', 'a', 'c', 'a', 'b']) await states.catchUp(stream, counting);

  expect(reads).toEqual(['a from 0', 'b from 0', 'a from 10', 'c from 0', 'a from 10', 'b from 0']);
});

test('a state larger than the cache is cached alone', async () => {
  const { log, reads } = countedLog();
  const states = createStreamStates(log, EVENTS_PER_STREAM - 1);

  for (const stream of ['a', 'a', 'b', 'a']) await states.catchUp(stream, counting);

  expect(reads).toEqual(['a from 0', 'a from 10', 'b from 0', 'a from 0']);
});

test('a state that was read again is the same', async () => {
  const { log } = countedLog();
  const states = createStreamStates(log, EVENTS_PER_STREAM);
  const first = await states.catchUp('a', counting);
  await states.catchUp('b', counting);

  expect(await states.catchUp('a', counting)).toEqual(first);
  expect(first).toEqual({ state: EVENTS_PER_STREAM, revision: EVENTS_PER_STREAM - 1, position: '10' });
});
