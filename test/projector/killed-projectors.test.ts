import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import type { LiveReadModels } from '../../src/read-models/read-models.ts';
import { eventually } from '../eventually.ts';
import {
  appendMany,
  BOTH,
  ends,
  eventsIn,
  expectToEqualTheLog,
  folder,
  liveOf,
  logOfEachTest,
  read,
} from './projector.fixture.ts';
import { counts, trails } from './space-trails.ts';

logOfEachTest();

describe('projector processes on SQLite', () => {
  const processes: ChildProcess[] = [];
  let documents: OperatedDocumentStore;
  let readModels: LiveReadModels;

  beforeEach(async () => {
    documents = await openSqliteDocumentStore({ folder });
    ends.push(() => documents.close());
    readModels = await read(documents);
  });
  afterEach(async () => {
    for (const child of processes.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });

  const spawnProjector = async (...args: readonly string[]) => {
    const script = new URL('projector-process.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [script, folder, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    processes.push(child);
    let stdout = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    return { child, projects: () => eventually(() => expect(stdout).toContain('projecting')) };
  };

  /** Stops a process between two writes: during one it would hold the lock on the file (docs/decisions/processes.md). */
  async function suspend(child: ChildProcess): Promise<void> {
    const probes = await documents.open<object>({ name: 'probes', kind: 'readModel', indexes: [] });
    for (let key = 0; ; key += 1) {
      child.kill('SIGSTOP');
      const written = probes.insert(String(key), {});
      if (await Promise.race([written, delay(500, false)])) return;
      child.kill('SIGCONT');
      await written;
    }
  }

  it('survives kill -9 under load: another process resumes and the read models equal the log', async () => {
    let writing = true;
    const load = (async () => {
      let position = '';
      while (writing) position = await appendMany(20);
      return position;
    })();
    let { child, projects } = await spawnProjector();
    for (let round = 0; round < 3; round++) {
      await projects();
      await delay(100 + round * 70);
      child.kill('SIGKILL');
      await once(child, 'exit');
      ({ child, projects } = await spawnProjector());
    }
    writing = false;
    expect(await readModels.waitFor(await load, { projections: BOTH })).toBe(true);
    await expectToEqualTheLog(readModels, trails());
    await expectToEqualTheLog(readModels, counts);
  });

  it('survives kill -9 in the middle of a build: another process continues it', async () => {
    await appendMany(12_000, 4_000);
    const done: number[] = [];
    for (let round = 0; (await liveOf(documents)) === '0.0'; round++) {
      const { child, projects } = await spawnProjector('500');
      await projects();
      await delay(100 + round * 50);
      child.kill('SIGKILL');
      await once(child, 'exit');
      done.push(Math.max(0, ...(await eventsIn(documents))));
    }
    expect(done).toEqual(done.toSorted((a, b) => a - b));
    await spawnProjector();
    const position = await appendMany(20, 4_000);
    expect(await readModels.waitFor(position, { projections: BOTH })).toBe(true);
    await expectToEqualTheLog(readModels, trails());
    await expectToEqualTheLog(readModels, counts);
  });

  it('is replaced when it hangs, and stays correct when it resumes', async () => {
    const hanging = await spawnProjector();
    await hanging.projects();
    await readModels.waitFor(await appendMany(50), { projections: BOTH });
    await suspend(hanging.child);
    const successor = await spawnProjector();
    await successor.projects();
    expect(await readModels.waitFor(await appendMany(50), { projections: BOTH })).toBe(true);
    hanging.child.kill('SIGCONT');
    expect(await readModels.waitFor(await appendMany(200), { projections: BOTH })).toBe(true);
    await delay(200);
    expect(await readModels.waitFor(await appendMany(20), { projections: BOTH })).toBe(true);
    await expectToEqualTheLog(readModels, trails());
    await expectToEqualTheLog(readModels, counts);
  });
});
