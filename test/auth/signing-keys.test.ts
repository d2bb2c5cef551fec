import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSigningKeys } from '../../src/auth/signing-keys.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';

const HOUR = 3_600_000;
const secretKey = randomBytes(32);

describe.each(documentEngines)('signing keys on %s', (_name, createDatabase) => {
  let database: TestDatabase;
  let now: number;
  const clock = () => now;

  beforeAll(async () => {
    now = Date.parse('2026-01-01T00:00:00Z');
    database = await createDatabase();
  });
  afterAll(() => database.remove());

  const open = async (key = secretKey) =>
    createSigningKeys({ documents: await database.open(), secretKey: key, clock });
  const kids = async (keys: Awaited<ReturnType<typeof open>>) => (await keys.current()).keys.map(({ kid }) => kid);

  test('are created once by any number of concurrently starting processes', async () => {
    const processes = await Promise.all([open(), open(), open()]);
    const seen = await Promise.all(processes.map(kids));
    expect(new Set(seen.map(String)).size).toBe(1);
    expect(seen[0]).toHaveLength(1);
  });

  test('are sealed, so another secret key cannot open them and the document holds no private part in the clear', async () => {
    const other = await open(randomBytes(32));
    await expect(other.current()).rejects.toThrow('cannot be opened');
    const documents = await (await database.open()).open<{ keys: unknown }>({
      name: 'signingKeys',
      kind: 'record',
      indexes: [],
    });
    const { privateJwk } = (await (await open()).current()).keys[0];
    const text = JSON.stringify(await documents.get('tokens'));
    for (const part of ['d', 'p', 'q'] as const) expect(text).not.toContain(privateJwk[part]);
  });

  test('rotate in every process: a new key is published before it signs, and the old one stays until its tokens expire', async () => {
    const [here, there] = [await open(), await open()];
    const [first] = await kids(here);
    const { kid, signsFrom } = await here.rotate();
    expect(signsFrom).toBe('2026-01-02T00:00:00.000Z');
    expect(await kids(there)).toEqual([first, kid]);
    now += 24 * HOUR - 1;
    expect(await kids(there)).toEqual([first, kid]);
    now += 1;
    expect(await kids(there)).toEqual([kid, first]);
    now += 24 * HOUR - 1;
    expect(await kids(there)).toEqual([kid, first]);
    now += 1;
    expect(await kids(there)).toEqual([kid]);
    expect(await kids(here)).toEqual([kid]);
    const urgent = await here.rotate({ now: true });
    expect(urgent.signsFrom).toBe(new Date(now).toISOString());
    expect(await kids(there)).toEqual([urgent.kid, kid]);
  });

  test('two simultaneous rotations lose neither key', async () => {
    const [here, there] = [await open(), await open()];
    const made = await Promise.all([here.rotate(), there.rotate()]);
    expect(await kids(here)).toEqual(expect.arrayContaining(made.map(({ kid }) => kid)));
  });
});
