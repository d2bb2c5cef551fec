import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openAttemptCounts } from '../../src/authorization-server/attempt-counts.ts';
import { createSignInAttempts } from '../../src/authorization-server/sign-in-attempts.ts';
import { ask } from '../document-store/ask.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';

const MINUTE_MS = 60_000;
const HERE = '192.0.2.1';
const ELSEWHERE = '192.0.2.2';
const ADA = 'ada@example.com';
const secretKey = randomBytes(32);

describe.each(documentEngines)('sign-in attempts on %s', (_name, createDatabase) => {
  let database: TestDatabase;
  let now: number;
  beforeEach(async () => {
    database = await createDatabase();
    now = Date.now();
  });
  afterEach(() => database.remove());

  /** The counter in another process of the service. */
  async function attempts(limits: { readonly perEmail?: number; readonly perNetwork?: number } = {}) {
    const documents = await database.open();
    const all = { perEmail: 3, perNetwork: 100, ...limits };
    const counts = await openAttemptCounts({ documents, secretKey, clock: () => now });
    return createSignInAttempts({ counts, limits: all });
  }

  test('wrong passwords for an e-mail lock out the network they came from, in every process', async () => {
    const processes = await Promise.all([attempts(), attempts()]);
    for (let count = 0; count < 3; count += 1) expect(await processes[count % 2]?.begin(ADA, HERE)).toBe(0);
    for (const each of processes) expect(await each.begin(ADA, HERE)).toBe(15 * MINUTE_MS);
    for (const each of processes) {
      expect(await each.begin(ADA, ELSEWHERE)).toBe(0);
      expect(await each.begin('else@example.com', HERE)).toBe(0);
    }
  });

  test('counts all spellings of the e-mail of one user together', async () => {
    const { begin } = await attempts();
    expect(await begin('ren\u00e9e@example.com', HERE)).toBe(0);
    expect(await begin('rene\u0301e@example.com', HERE)).toBe(0);
    expect(await begin('  REN\u00c9E@example.com ', HERE)).toBe(0);
    expect(await begin('ren\u00e9e@example.com', HERE)).toBeGreaterThan(0);
    expect(await begin('renee@example.com', HERE)).toBe(0);
  });

  test('many wrong passwords from one network lock it out for every e-mail', async () => {
    const { begin } = await attempts({ perNetwork: 5 });
    for (let count = 0; count < 5; count += 1) expect(await begin(`user${count}@example.com`, HERE)).toBe(0);
    expect(await begin('user5@example.com', HERE)).toBeGreaterThan(0);
    expect(await begin('user5@example.com', ELSEWHERE)).toBe(0);
  });

  test('concurrent attempts cannot exceed the limit', async () => {
    const processes = await Promise.all([attempts(), attempts()]);
    const waits = await Promise.all(
      Array.from({ length: 20 }, (_, count) => processes[count % 2]?.begin(ADA, HERE) ?? Promise.resolve(0)),
    );
    expect(waits.filter((wait) => wait === 0)).toHaveLength(3);
  });

  test('the right password resets the count of the e-mail and takes only its own attempt off the count of the network', async () => {
    const { begin, succeeded } = await attempts({ perNetwork: 4 });
    for (let round = 0; round < 2; round += 1) await begin(ADA, HERE);
    for (let round = 0; round < 5; round += 1) {
      expect(await begin(ADA, HERE)).toBe(0);
      await succeeded(ADA, HERE);
    }
    expect(await begin(ADA, HERE)).toBe(0);
    expect(await begin(ADA, HERE)).toBe(0);
    expect(await begin('else@example.com', HERE)).toBeGreaterThan(0);
  });

  test('a lockout ends 15 minutes after the first attempt, and refused attempts do not extend it', async () => {
    const { begin } = await attempts();
    for (let count = 0; count < 3; count += 1) await begin(ADA, HERE);
    now += 10 * MINUTE_MS;
    expect(await begin(ADA, HERE)).toBe(5 * MINUTE_MS);
    now += 5 * MINUTE_MS;
    expect(await begin(ADA, HERE)).toBe(0);
  });

  test('a process whose clock was ahead does not lengthen a lockout', async () => {
    const { begin } = await attempts();
    now += 24 * 60 * MINUTE_MS;
    for (let count = 0; count < 3; count += 1) await begin(ADA, HERE);
    now -= 24 * 60 * MINUTE_MS;
    expect(await begin(ADA, HERE)).toBe(0);
  });

  test('neither e-mails nor addresses are stored', async () => {
    const { begin } = await attempts();
    await begin(ADA, HERE);
    const documents = await (await database.open()).open({ name: 'attemptCounts', kind: 'record', indexes: [] });
    const stored = JSON.stringify(await Array.fromAsync(documents.find(ask())));
    // Keys are in base64url, which has neither @ nor a full stop, and any three letters by chance.
    expect(stored).not.toMatch(/ada@|@example|192\.0/);
    expect(stored).toMatch(/"count":1/);
  });
});
