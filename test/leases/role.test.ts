import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Heartbeats, startHeartbeats } from '../../src/leases/heartbeats.ts';
import { createRole, type Role } from '../../src/leases/role.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { eventually } from '../eventually.ts';

const SILENCE_MS = 1_000;

describe.each(documentEngines)('a role on %s', (_, createDatabase) => {
  let database: TestDatabase;
  let started: string[];
  let running: string[];
  const reported: string[] = [];
  const roles: Role[] = [];
  const hearts: Heartbeats<object>[] = [];

  beforeEach(async () => {
    database = await createDatabase();
    started = [];
    running = [];
  });
  afterEach(async () => {
    await Promise.all(roles.splice(0).map((role) => role.stop()));
    await Promise.all(hearts.splice(0).map((heart) => heart.stop()));
    await database.remove();
  });

  /** Starts the role as another process would. */
  async function process(name: string, isBroken: () => boolean = () => false) {
    const documents = await database.open();
    const heartbeats = await startHeartbeats({ documents, status: {}, silenceMs: SILENCE_MS });
    hearts.push(heartbeats);
    const report = (_: unknown, message?: string) => reported.push(message ?? '');
    const role = createRole({
      name: 'test',
      documents,
      heartbeats,
      clock: Date.now,
      logger: { warn: report, error: report },
      async run() {
        started.push(name);
        if (isBroken()) throw new Error('Broken');
        running.push(name);
        const stop = async () => void running.splice(running.indexOf(name), 1);
        return { stop };
      },
    });
    roles.push(role);
    role.start();
    return { role, heartbeats };
  }
  const runs = (name: string) => eventually(() => expect(running).toEqual([name]));

  test('is run by one process at a time, and by the next after a clean stop or a death', async () => {
    const { role } = await process('a');
    await runs('a');
    const { heartbeats } = await process('b');
    await process('c');
    await role.stop();
    await eventually(() => expect(running).toHaveLength(1));
    expect(running).not.toContain('a');
    const [second] = running;
    if (second === 'b') await heartbeats.stop();
    else await hearts.at(-1)?.stop();
    // The others take it for dead. It notices itself that it no longer holds the lease.
    await eventually(() => expect(running.filter((name) => name !== second)).toHaveLength(1));
    await eventually(() => expect(running).not.toContain(second));
  });

  test('is tried again when it cannot start, which is reported once', async () => {
    let isBroken = true;
    await process('a', () => isBroken);
    await eventually(() => expect(started.length).toBeGreaterThan(2));
    isBroken = false;
    await runs('a');
    expect(reported.filter((line) => line === 'A role could not be run; retrying')).toHaveLength(1);
  });
});
