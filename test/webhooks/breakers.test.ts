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
    const first = await (await open()).load();
    // A change applies at once.
    const changes = [1, 2, 3].map(() => first.change('wh_a', failed));
    expect(first.state('wh_a')).toEqual({ failures: 3 });
    expect(first.state('wh_b')).toEqual(CLOSED);
    await Promise.all(changes);
    expect(await (await open()).get('wh_a')).toMatchObject({ failures: 3 });
    const second = await (await open()).load();
    expect(second.state('wh_a')).toMatchObject({ failures: 3 });
    await second.change('wh_a', () => CLOSED);
    const stored = await (await database.open()).open({ name: 'webhookBreakers', kind: 'readModel', indexes: [] });
    expect(await stored.get('wh_a')).toBeUndefined();
  });
});
