import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Breaker, CLOSED } from '../../src/webhooks/breaker.ts';
import { openBreakers } from '../../src/webhooks/breakers.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';

const failed = (breaker: Breaker): Breaker => ({ ...breaker, failures: breaker.failures + 1 });

describe.each(documentEngines)('breakers on %s', (_, createDatabase) => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(() => database.remove());

  /** The breakers as another process sees them. */
  const open = async () => openBreakers({ documents: await database.open(), clock: Date.now });

  test('a breaker passes from one process to the next, and leaves nothing once the endpoint has succeeded', async () => {
    expect(await (await open()).get('wh_a')).toEqual(CLOSED);
    const first = await (await open()).open('wh_a');
    // A change applies at once.
    const changes = [first.change(failed), first.change(failed), first.change(failed)];
    expect(first.state()).toEqual({ failures: 3 });
    await Promise.all(changes);
    const second = await open();
    expect(await second.get('wh_a')).toMatchObject({ failures: 3 });
    const both = await second.getMany(['wh_a', 'wh_b']);
    expect(both.get('wh_a')).toMatchObject({ failures: 3 });
    expect(both.get('wh_b')).toEqual(CLOSED);
    const opened = await second.open('wh_a');
    expect(opened.state()).toMatchObject({ failures: 3 });
    await opened.change(() => CLOSED);
    const stored = await (await database.open()).open({ name: 'webhookBreakers', kind: 'readModel', indexes: [] });
    expect(await stored.get('wh_a')).toBeUndefined();
  });
});
