import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ReceiverHealth, UNKNOWN } from '../../src/webhooks/receiver-health.ts';
import { openReceivers } from '../../src/webhooks/receivers.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';

const DAY_MS = 24 * 3_600_000;
const failure = (state: ReceiverHealth): ReceiverHealth => ({ ...state, failures: state.failures + 1 });

describe.each(documentEngines)('receivers on %s', (_, createDatabase) => {
  let now: number;
  let database: TestDatabase;
  beforeEach(async () => {
    // The server removes expired documents by its own clock.
    now = Date.now();
    database = await createDatabase();
  });
  afterEach(() => database.remove());

  /** The receivers as another process sees them. */
  const open = async () => openReceivers({ documents: await database.open(), clock: () => now });

  test('the state of a receiver passes from one process to the next', async () => {
    expect(await (await open()).get('wh_a')).toEqual(UNKNOWN);
    await (await (await open()).open('wh_a')).change((state) => ({ ...failure(state), pace: 'slow' }));
    const second = await open();
    expect(await second.get('wh_a')).toMatchObject({ failures: 1, pace: 'slow' });
    const known = await second.getMany(['wh_a', 'wh_b']);
    expect(known.get('wh_a')).toMatchObject({ failures: 1 });
    expect(known.get('wh_b')).toEqual(UNKNOWN);
    expect((await second.open('wh_a')).health()).toMatchObject({ failures: 1 });
  });

  test('a change applies at once, and concurrent changes from several processes are all kept', async () => {
    const [one, other] = [await (await open()).open('wh_a'), await (await open()).open('wh_a')];
    const changes = [one, one, other, one, other].map((receiver) => receiver.change(failure));
    expect(one.health().failures).toBe(3);
    await Promise.all(changes);
    expect(await (await open()).get('wh_a')).toMatchObject({ failures: 5 });
  });

  test('the state of an idle receiver is kept', async () => {
    await (await (await open()).open('wh_a')).change((state) => ({ ...state, pace: 'prompt' }));
    now += 40 * DAY_MS;
    await (await (await open()).open('wh_a')).change((state) => state);
    const documents = await database.open();
    const stored = await documents
      .open<{ readonly expiresAt: string }>({ name: 'webhookReceiverStates', kind: 'readModel', indexes: [] })
      .then((collection) => collection.get('wh_a'));
    expect(Date.parse(stored?.document.expiresAt ?? '')).toBe(now + 60 * DAY_MS);
  });
});
