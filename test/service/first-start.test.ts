import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import type { Account } from '../../src/domain/account.ts';
import { communityId } from '../../src/domain/ids.ts';
import { THIS_PROCESS } from '../../src/runtime/process-liveness.ts';
import { BY_OPERATOR, openUsers } from '../auth/change-log.ts';
import { TestApp } from '../authorization-server/test-app.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { call } from './client.ts';
import { runNode } from './node-process.ts';
import { sharedServiceProcess, startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

describe('on an empty folder', () => {
  const started = sharedServiceProcess();

  test('a running service is alive and ready, and reports the lag of its read models', async () => {
    const { url } = started();
    const alive = await fetch(`${url}/healthz`);
    expect([alive.status, await alive.json()]).toEqual([200, { status: 'ok', release: expect.any(String) }]);
    const ready = await fetch(`${url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      200,
      { status: 'ready', eventStore: 'ok', documentStore: 'ok', eventsBehind: 0 },
    ]);
  });

  test('the first start creates a demo whose printed commands and links all work', async () => {
    const { dataDir, ...service } = started();
    const demo = service.demo();

    const user = { email: expect.stringContaining('@'), password: expect.any(String) };
    const space = { id: expect.any(Number), name: expect.any(String), active: expect.any(Boolean) };
    const community = { id: expect.any(Number), name: expect.any(String), timeZone: expect.any(String) };
    const apiKey = expect.stringMatching(/^vbs_live_/);
    expect(demo).toEqual({
      baseUrl: `${demo.authUrl}/api/v1`,
      authUrl: service.url.replace('127.0.0.1', 'localhost'),
      communities: [
        { ...community, apiKey, user, spaces: [space, space] },
        { ...community, apiKey, user, spaces: [space, space] },
      ],
      brands: [
        { id: expect.any(Number), name: expect.any(String), apiKey, user },
        { id: expect.any(Number), name: expect.any(String), apiKey, user },
      ],
    });
    expect(new Set(demo.communities.map(({ timeZone }) => timeZone)).size).toBe(2);
    expect(demo.communities.flatMap(({ spaces }) => spaces).filter(({ active }) => !active)).toHaveLength(1);
    // The log and the documents are private, too: they hold keys, password hashes and guests' messages.
    const files = readdirSync(dataDir);
    expect(files).toEqual(expect.arrayContaining(['demo.json', 'secret.key', 'events.db', 'records.sqlite-wal']));
    for (const file of files) {
      const stats = statSync(join(dataDir, file));
      expect([file, stats.mode & 0o777]).toEqual([file, stats.isDirectory() ? 0o700 : 0o600]);
    }

    const statuses = new Set<string>();
    for (const { apiKey: key, id, spaces } of demo.communities) {
      const listed = await call(service, key, '/bookings');
      expect(listed.status).toBe(200);
      for (const { status } of listed.body) statuses.add(status);
      expect((await call(service, key, `/communities/${id}/reviews`)).status).toBe(200);
      expect((await call(service, key, `/spaces/${spaces[0]?.id}/availability?date=${inDays(2)}`)).status).toBe(200);
      expect((await call(service, key, '/webhooks')).status).toBe(200);
      expect(await call(service, key, '/bookings', {})).toMatchObject({ status: 403 });
    }
    expect([...statuses].sort()).toEqual(['Approved', 'Cancelled', 'Completed', 'Pending']);

    const [brand] = demo.brands;
    const [home] = demo.communities;
    if (brand === undefined || home === undefined) throw new Error('The demo has no brand or community');
    const wanted = { spaceId: home.spaces[0]?.id, startTime: inDays(20), startHour: 10 };
    expect(await call(service, brand.apiKey, '/bookings', wanted)).toMatchObject({ status: 201 });
    const reviews = await call(service, brand.apiKey, `/communities/${home.id}/reviews`);
    expect(reviews.body.length).toBeGreaterThan(0);

    const [, header, value, address] = /curl -H '([^:]+): ([^']+)' '([^']+)'/.exec(service.output.stdout) ?? [];
    if (header === undefined || value === undefined || address === undefined) throw new Error('No curl was printed');
    const pasted = await fetch(address, { headers: { [header]: value } });
    expect(pasted.status).toBe(200);
    expect(await pasted.json()).toMatchObject({
      timeSlots: expect.arrayContaining([{ hour: 9, label: '9:00 AM', isAvailable: true }]),
    });
  });

  test('the demo users can sign in', async () => {
    const { brands, communities, authUrl } = started().demo();
    for (const [kind, { id, user }] of [
      ['Brand', brands[0] ?? expect.fail()],
      ['Community', communities[0] ?? expect.fail()],
    ] as const) {
      const tokens = await (await TestApp.register(authUrl)).tokens({ ...user, account: `${kind}:${id}` });
      expect(tokens.claims()).toMatchObject({ email: user.email });
    }
  });

  test('a later start keeps existing data and updates the URLs in demo.json', async () => {
    const first = started();
    const before = first.demo();
    expect(await first.end('SIGTERM')).toBe(0);

    const second = await startServiceProcess(first.dataDir);
    const after = second.demo();
    expect(after.communities).toEqual(before.communities);
    expect(after.baseUrl).not.toBe(before.baseUrl);
    const key = after.brands[0]?.apiKey ?? '';
    expect((await call(second, key, '/bookings')).body.length).toBeGreaterThan(0);
  });
});

test('with DEMO=false the first start creates no demo data', async () => {
  const dataDir = temporaryDataDir();
  const service = await startServiceProcess(dataDir, { DEMO: 'false' });
  expect(() => service.demo()).toThrow('ENOENT');
  expect(service.output.stdout).not.toContain('curl');
  expect(service.output.stdout).not.toContain('Demo');

  // Neither does a later start, which finds existing data; it says how to get a demo.
  expect(await service.end('SIGTERM')).toBe(0);
  await venue(dataDir, 'brand', 'add', '--name', 'Acme');
  const later = await startServiceProcess(dataDir);
  expect(() => later.demo()).toThrow('ENOENT');
  expect(later.output.stdout).toContain(`empty ${dataDir} and start again`);
});

test('the next start completes an interrupted first start', async () => {
  const dataDir = temporaryDataDir();
  const killed = spawn(process.execPath, ['-e', '']);
  await once(killed, 'close');
  const documents = await openSqliteDocumentStore({ folder: dataDir });
  const seeding = await documents.open({ name: 'demo', kind: 'record', indexes: [] });
  await seeding.insert('demo', { pidNamespace: THIS_PROCESS.pidNamespace, pid: killed.pid, done: false });
  const users = await usersOf(documents);
  const accounts: Account[] = [{ kind: 'Community', id: communityId(1) }];
  await users.add({ email: 'harbour@demo.example', password: 'nobody knows it', accounts }, BY_OPERATOR);
  await documents.close();
  await venue(dataDir, 'community', 'add', '--name', 'Harbour Lofts', '--time-zone', 'Europe/Berlin');

  const demo = (await startServiceProcess(dataDir)).demo();
  const { id, user } = demo.communities[0] ?? { id: 0, user: { email: '', password: '' } };
  const again = await openSqliteDocumentStore({ folder: dataDir });
  const signedIn = await (await usersOf(again)).verifyPassword(user.email, user.password);
  await again.close();
  expect(signedIn?.memberships).toEqual([{ account: { kind: 'Community', id }, role: 'Manager' }]);
});

const usersOf = async (documents: OperatedDocumentStore) => (await openUsers(documents, Date.now)).users;

test('a start without demo data explains how to create the first account, until one exists', async () => {
  const dataDir = temporaryDataDir();
  const env = { DEMO: 'false' };
  const first = await startServiceProcess(dataDir, env);
  await eventually(() => expect(first.output.stdout).toContain('Accounts none yet. Create the first one to sign in:'));
  const [, addCommunity = ''] = /\n {2}venue (community add .*)/.exec(first.output.stdout) ?? [];
  const [, addUser = ''] = /\n {2}venue (user add .*)/.exec(first.output.stdout) ?? [];
  await first.end('SIGTERM');

  // The printed instructions work.
  const words = (line: string) =>
    Array.from(line.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, bare]) => quoted ?? bare ?? '');
  const community = await venue(dataDir, ...words(addCommunity));
  expect(community).toMatchObject({ code: 0, stdout: expect.stringMatching(/id +1\n/) });
  const user = await runNode('src/cli.js', words(addUser), { DATA_DIR: dataDir }, { input: 'long enough 1' });
  expect(user).toMatchObject({ code: 0, stdout: expect.stringContaining('you@example.com') });

  const second = await startServiceProcess(dataDir, env);
  await eventually(() => expect(second.output.stdout).toContain('/console'));
  expect(second.output.stdout).not.toContain('Accounts none yet');
  await second.end('SIGTERM');
});
