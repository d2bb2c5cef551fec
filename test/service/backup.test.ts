import { cpSync, existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { inProcessWith, jsonWith } from '../cli/in-process.ts';
import { freePort } from '../free-port.ts';
import { inDays } from '../in-days.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { call } from './client.ts';
import type { Environment } from './node-process.ts';
import { type ServiceProcess, startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

/** Requests bookings on consecutive days, from `firstDay` on. @returns their ids */
async function book(service: ServiceProcess, firstDay: number, count: number): Promise<number[]> {
  const { brands, communities } = service.demo();
  const ids: number[] = [];
  for (let day = firstDay; day < firstDay + count; day += 1) {
    const wanted = { spaceId: communities[0]?.spaces[0]?.id, startTime: inDays(day), startHour: 12 };
    const { status, body } = await call(service, brands[0]?.apiKey ?? '', '/bookings', wanted);
    expect(status).toBe(201);
    ids.push(body.id);
  }
  return ids;
}

const bookingIds = async (service: ServiceProcess): Promise<number[]> => {
  const { status, body } = await call(service, service.demo().brands[0]?.apiKey ?? '', '/bookings');
  expect(status).toBe(200);
  return body.map(({ id }: { id: number }) => id).sort((a: number, b: number) => a - b);
};

const run = (dataDir: string, ...args: readonly string[]) => jsonWith({ DATA_DIR: dataDir }, ...args);

test('a backup of a store in use holds every acknowledged write, and can be restored and used', async () => {
  const dataDir = temporaryDataDir();
  const backup = join(temporaryDataDir(), 'backup.ndjson');
  const service = await startServiceProcess(dataDir);
  await book(service, 30, 5);
  const before = await bookingIds(service);

  let booking = true;
  const load = (async () => {
    for (let day = 100; booking; day += 1) await book(service, day, 1);
  })();
  const made = await run(dataDir, 'backup', backup, '--with-secret-key');
  booking = false;
  await load;
  const after = await book(service, 40, 3);
  expect(made).toMatchObject({ file: backup, secretKey: true });
  for (const file of [backup, `${backup}.key`]) expect(statSync(file).mode & 0o777).toBe(0o600);

  const other = temporaryDataDir();
  const restored = await run(other, 'restore', backup);
  expect(restored).toMatchObject({ events: made.events, records: made.records, skippedIds: 1_000_000, lost: [] });
  cpSync(join(dataDir, 'demo.json'), join(other, 'demo.json'));
  const again = await startServiceProcess(other, { DEMO: 'true' });
  const listed = await bookingIds(again);
  expect(before.filter((id) => !listed.includes(id))).toEqual([]);
  expect(after.filter((id) => listed.includes(id))).toEqual([]);

  // No id that was issued after the backup is issued again.
  const [next = 0] = await book(again, 40, 1);
  expect(next).toBeGreaterThan(1_000_000);
  expect(await run(other, 'verify')).toMatchObject({ differences: [], notVerified: [] });
});

test('backup and restore lose no delivery, and a recreated delivery keeps its id', async () => {
  const dataDir = temporaryDataDir();
  const backup = join(temporaryDataDir(), 'backup.ndjson');
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const env = { WEBHOOKS_ALLOW_PRIVATE: 'true' };
  const service = await startServiceProcess(dataDir, env);
  const key = service.demo().brands[0]?.apiKey ?? '';
  expect((await call(service, key, '/webhooks', { url: receiver.url, events: 1 })).status).toBe(201);
  let day = 30;
  let booking = true;
  const booked: number[] = [];
  const load = (async () => {
    while (booking) booked.push(...(await book(service, day++, 1)));
  })();
  await receiver.until(3);
  await run(dataDir, 'backup', backup, '--with-secret-key');
  booking = false;
  await load;
  await service.end('SIGKILL');

  const other = temporaryDataDir();
  await run(other, 'restore', backup);
  cpSync(join(dataDir, 'demo.json'), join(other, 'demo.json'));
  const again = await startServiceProcess(other, env);
  const held = await bookingIds(again);
  const wanted = booked.filter((id) => held.includes(id));
  expect(wanted.length).toBeGreaterThan(2);
  wanted.push(...(await book(again, day, 1)));

  const [{ id: webhookId }] = await run(other, 'webhook', 'list');
  const delivered = async (): Promise<number[]> => {
    const all = await run(other, 'webhook', 'deliveries', webhookId, '--state', 'Delivered', '--limit', '100000');
    return all.map(({ body }: { body: string }) => JSON.parse(body).data.bookingId);
  };
  await expect.poll(async () => (await delivered()).toSorted((a, b) => a - b)).toEqual(wanted);
  const ids = new Map(wanted.map((id) => [id, new Set<unknown>()]));
  for (const { body, headers } of receiver.received)
    ids.get(JSON.parse(body).data.bookingId)?.add(headers['webhook-id']);
  expect([...ids.values()].map(({ size }) => size)).toEqual(wanted.map(() => 1));
});

test('a restore replaces a damaged log, and prints lost deliveries that receivers may have received', async () => {
  const dataDir = temporaryDataDir();
  const backup = join(temporaryDataDir(), 'backup.ndjson');
  const service = await startServiceProcess(dataDir, { WEBHOOKS_ALLOW_PRIVATE: 'true' });
  const { brands } = service.demo();
  const receiver = `http://127.0.0.1:${await freePort()}/`;
  const webhook = await call(service, brands[0]?.apiKey ?? '', '/webhooks', { url: receiver, events: 15 });
  expect(webhook.status).toBe(201);
  const kept = await book(service, 30, 1);
  await run(dataDir, 'backup', backup);
  const [lost] = await book(service, 31, 1);
  const attempted = async () => {
    const deliveries = await run(dataDir, 'webhook', 'deliveries', webhook.body.id);
    return deliveries.filter(({ attempts }: { attempts: unknown[] }) => attempts.length > 0).length;
  };
  await expect.poll(attempted).toBeGreaterThanOrEqual(2);
  expect(await service.end('SIGTERM')).toBe(0);
  writeFileSync(join(dataDir, 'events.db'), Buffer.alloc(8_192, 'damaged'));

  const refused = await venue(dataDir, 'restore', backup);
  expect(refused.code).toBe(1);
  const restored = await run(dataDir, 'restore', backup, '--overwrite');
  expect(restored.lost).toMatchObject([{ event: 'BookingRequested', bookingId: lost, sent: true }]);
  expect(existsSync(join(restored.aside, 'events.db'))).toBe(true);

  const again = await startServiceProcess(dataDir);
  const listed = await bookingIds(again);
  expect(listed).toEqual(expect.arrayContaining(kept));
  expect(listed).not.toContain(lost);
});

/** A store with one delivered booking, and the same store one booking and delivery later. */
async function olderAndLater(receiver: Receiver) {
  const [dataDir, older] = [temporaryDataDir(), temporaryDataDir()];
  const env = { WEBHOOKS_ALLOW_PRIVATE: 'true' };
  const service = await startServiceProcess(dataDir, env);
  const registered = { url: receiver.url, events: 1 };
  expect((await call(service, service.demo().brands[0]?.apiKey ?? '', '/webhooks', registered)).status).toBe(201);
  const kept = await book(service, 30, 1);
  await receiver.until(1);
  expect(await service.end('SIGTERM')).toBe(0);
  cpSync(dataDir, older, { recursive: true });
  const later = await startServiceProcess(dataDir, env);
  const [booked = 0] = await book(later, 31, 1);
  await receiver.until(2);
  // The log records that the fan-out has handled the event.
  await delay(1_500);
  expect(await later.end('SIGTERM')).toBe(0);
  return { older, later: dataDir, env, kept, booked };
}

test('a log and records restored with other tools become one store, in either order of age', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const { older, later, env, kept, booked } = await olderAndLater(receiver);
  const [olderLog, olderRecords] = [temporaryDataDir(), later];
  cpSync(later, olderLog, { recursive: true });
  cpSync(join(older, 'events.db'), join(olderLog, 'events.db'));
  cpSync(join(older, 'records.sqlite'), join(olderRecords, 'records.sqlite'));

  expect(await run(olderLog, 'restore', '--adopt')).toMatchObject({ adopted: true, skippedIds: 1_000_000 });
  const again = await startServiceProcess(olderLog);
  const listed = await bookingIds(again);
  expect(listed).toEqual(expect.arrayContaining(kept));
  expect(listed).not.toContain(booked);
  expect((await book(again, 32, 1))[0]).toBeGreaterThan(booked + 1_000_000 - 100);
  expect(await run(olderLog, 'verify')).toMatchObject({ differences: [], notVerified: [] });
  await again.end('SIGKILL');

  // Deliveries that are missing from the older records are recreated with the same ids.
  await run(olderRecords, 'restore', '--adopt');
  await startServiceProcess(olderRecords, env);
  const idsOf = () =>
    receiver.received
      .filter(({ body }) => JSON.parse(body).data.bookingId === booked)
      .map(({ headers }) => headers['webhook-id']);
  await expect.poll(() => idsOf().length).toBe(2);
  expect(new Set(idsOf()).size).toBe(1);
});

test('an interrupted backup continues, and a damaged one is refused before any change', async () => {
  const dataDir = temporaryDataDir();
  const backup = join(temporaryDataDir(), 'backup.ndjson');
  await run(dataDir, 'brand', 'add', '--name', 'Acme');
  const made = await run(dataDir, 'backup', backup, '--with-secret-key');
  const again = await venue(dataDir, 'backup', backup);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('holds a complete export') });

  truncateSync(backup, 400);
  const target = temporaryDataDir();
  const incomplete = await venue(target, 'restore', backup);
  expect(incomplete).toMatchObject({ code: 1, stderr: expect.stringMatching(/is incomplete|damaged|cut off/) });
  expect(readdirSync(target)).toEqual([]);
  expect(await run(dataDir, 'backup', backup)).toMatchObject({ events: made.events });
  expect(await run(target, 'restore', backup)).toMatchObject({ events: made.events });
});

test('a restore needs the key, an empty store and a stopped service', async () => {
  const dataDir = temporaryDataDir();
  const backup = join(temporaryDataDir(), 'backup.ndjson');
  await run(dataDir, 'brand', 'add', '--name', 'Acme');
  await run(dataDir, 'backup', backup);

  const target = temporaryDataDir();
  const keyless = await venue(target, 'restore', backup);
  expect(keyless).toMatchObject({ code: 2, stderr: expect.stringContaining('SECRET_KEY: is needed') });
  expect(readdirSync(target)).toEqual([]);
  const restoreWith = (folder: string, env: Environment) =>
    inProcessWith({ DATA_DIR: folder, ...env }, 'restore', backup);
  const strange = await restoreWith(target, { SECRET_KEY: Buffer.alloc(32, 1).toString('base64') });
  expect(strange).toMatchObject({ code: 2, stderr: expect.stringContaining('SECRET_KEY: is not the key') });

  const SECRET_KEY = readFileSync(join(dataDir, 'secret.key'), 'utf8');
  const full = await restoreWith(dataDir, { SECRET_KEY });
  expect(full).toMatchObject({ code: 1, stderr: expect.stringContaining('--overwrite') });
  const service = await startServiceProcess(dataDir, { DEMO: 'false' });
  const running = await restoreWith(dataDir, { SECRET_KEY });
  expect(running).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^ValidationError: .* Stop the service first\.\n$/),
  });
  expect(await service.end('SIGTERM')).toBe(0);
  expect(await restoreWith(target, { SECRET_KEY })).toMatchObject({ code: 0 });
});

test('a file that cannot hold or provide a backup is refused in one line that names it', async () => {
  const dataDir = temporaryDataDir();
  const file = join(temporaryDataDir(), 'file');
  writeFileSync(file, '');
  const folder = temporaryDataDir();
  const calls = [
    { args: ['backup', folder], code: 1, says: /^ValidationError: .* cannot be written: EISDIR/ },
    ...(existsSync('/proc/self')
      ? [
          {
            args: ['backup', '/proc/nowhere/a'],
            code: 1,
            says: /^ValidationError: .* cannot be written: the folder \/proc\/nowhere does not exist/,
          },
        ]
      : []),
    { args: ['restore', folder], code: 1, says: /^ValidationError: .* cannot be read: EISDIR/ },
    { args: ['restore', file], code: 1, says: /^ValidationError: .* is empty/ },
    {
      args: ['restore', '--adopt', '--overwrite'],
      code: 2,
      says: /^ValidationError: --overwrite goes with a backup/,
    },
  ];
  for (const { args, code, says } of calls)
    expect(await venue(dataDir, ...args)).toMatchObject({ code, stderr: expect.stringMatching(says) });
});
