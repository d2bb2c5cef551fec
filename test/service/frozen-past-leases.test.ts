import { globSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { everyDocument } from '../../src/document-store/queries.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { ROLE_LEASES } from '../../src/leases/role.ts';
import { READ_MODEL_LEASES } from '../../src/read-models/leases.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { startSmtp } from '../mail/smtp.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { call } from './client.ts';
import { type ServiceProcess, startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

/** Deliveries to one receiver, and mails, that are being sent at the same time: a frozen process goes on with these. */
const IN_FLIGHT = 4;

type Lease = { readonly session?: string; readonly expiresAt: string };

/** The holder of each lease in a store. */
async function holdersIn(folder: string): Promise<ReadonlyMap<string, string | undefined>> {
  const documents = await openSqliteDocumentStore({ folder });
  const holders = new Map<string, string | undefined>();
  for (const name of [ROLE_LEASES, READ_MODEL_LEASES]) {
    const leases = await documents.open<Lease>({ name, kind: 'readModel', ttl: 'expiresAt', indexes: [] });
    for await (const { key, document } of leases.find(everyDocument())) holders.set(key, document.session);
  }
  await documents.close();
  return holders;
}

function isLocked(file: string): boolean {
  const database = new DatabaseSync(file, { timeout: 200 });
  try {
    database.exec('BEGIN IMMEDIATE; ROLLBACK');
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}

/** Suspends a process between two writes: during one it would hold the lock on a file (docs/decisions/processes.md). */
async function suspend({ pid, dataDir }: ServiceProcess): Promise<void> {
  const files = globSync('**/*.{db,sqlite}', { cwd: dataDir }).map((file) => join(dataDir, file));
  for (;;) {
    process.kill(pid, 'SIGSTOP');
    if (!files.some(isLocked)) return;
    process.kill(pid, 'SIGCONT');
    await delay(20);
  }
}

/** Those received after `from` others that had been received before. */
const repeatedAfter = (ids: readonly string[], from: number): readonly string[] => {
  const before = new Set(ids.slice(0, from));
  return ids.slice(from).filter((id) => before.has(id));
};

test('a process that is frozen for longer than every lease begins nothing when it goes on', async () => {
  const [receiver, smtp] = [await startReceiver(), await startSmtp()];
  onTestFinished(async () => {
    await receiver.close();
    await smtp.kill();
  });
  const settings = { WEBHOOKS_ALLOW_PRIVATE: 'true', SMTP_URL: smtp.url, MAIL_FROM: 'bookings@venue.example' };
  const dataDir = temporaryDataDir();
  const frozen = await startServiceProcess(dataDir, settings);
  const other = await startServiceProcess(dataDir, settings);
  const { brands, communities } = frozen.demo();
  const key = brands[0]?.apiKey ?? '';
  const spaceId = communities[0]?.spaces[0]?.id;
  expect((await call(other, key, '/webhooks', { url: receiver.url, events: 1 })).status).toBe(201);
  const leases = [...(await holdersIn(dataDir)).values()];
  expect(leases.length).toBeGreaterThanOrEqual(4);
  expect(new Set(leases).size).toBe(1);
  const [session] = leases;

  const booked: number[] = [];
  let isOver = false;
  async function book(): Promise<void> {
    while (!isOver) {
      const startTime = inDays(30 + booked.length);
      const { status, body } = await call(other, key, '/bookings', { spaceId, startTime, startHour: 12 });
      expect(status).toBe(201);
      booked.push(body.id);
    }
  }
  const delivered = () => receiver.received.map(({ headers }) => String(headers['webhook-id']));
  const mailed = () => smtp.arrived.map(({ mail }) => `${mail.messageId}`);

  const booking = book();
  await eventually(() => expect(booked.length).toBeGreaterThan(10));
  await suspend(frozen);
  await eventually(async () => {
    const holders = await holdersIn(dataDir);
    expect([...holders].filter(([, holder]) => holder === session)).toEqual([]);
    expect(new Set(holders.values()).size).toBe(1);
  });
  const before = booked.length;
  await eventually(() => expect(booked.length).toBeGreaterThan(before + 10));
  const [deliveries, mails] = [delivered().length, mailed().length];
  process.kill(frozen.pid, 'SIGCONT');
  const resumed = booked.length;
  await eventually(() => expect(booked.length).toBeGreaterThan(resumed + 30));
  isOver = true;
  await booking;
  await eventually(() => {
    const told = receiver.received.map(({ body }) => JSON.parse(body).data.bookingId);
    expect(told).toEqual(expect.arrayContaining(booked));
  });
  expect(mails).toBeGreaterThan(0);
  expect(repeatedAfter(delivered(), deliveries).length).toBeLessThanOrEqual(IN_FLIGHT);
  expect(repeatedAfter(mailed(), mails).length).toBeLessThanOrEqual(IN_FLIGHT);
  expect(new Set(booked).size).toBe(booked.length);
  expect((await call(frozen, key, '/bookings')).body).toEqual((await call(other, key, '/bookings')).body);
  expect(await venue(dataDir, 'verify')).toMatchObject({ code: 0 });
  expect([...(await holdersIn(dataDir)).values()]).not.toContain(session);
  expect(frozen.output.stdout).toContain('This process was silent for too long and lost a role');
});
