import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { bookingId, timestamp } from '../../src/domain/ids.ts';
import { ownerOf, type SealedText } from '../../src/domain/personal-text.ts';
import { createPersonalData } from '../../src/personal-data/personal-data.ts';
import { requested } from '../domain/bookings.fixture.ts';
import { eventually } from '../eventually.ts';

const SECRET_KEY = Buffer.alloc(32, 7);

let folder: string;
const stores: OperatedDocumentStore[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-subject-keys-'));
});
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
  await rm(folder, { recursive: true });
});

/** Personal data as a process of its own has it: on a connection of its own. */
async function aProcess(secretKey = SECRET_KEY) {
  const documents = await openSqliteDocumentStore({ folder });
  stores.push(documents);
  return { documents, ...createPersonalData({ documents, secretKey, clock: () => 0 }) };
}

async function sealedBy({ sealEvent }: Awaited<ReturnType<typeof aProcess>>, message: string) {
  const event = await sealEvent(requested({ message }), undefined);
  if (isRefusal(event)) throw new Error(event.details);
  return event.data;
}

test('processes that seal the first texts of a subject at the same moment use one key', async () => {
  const processes = await Promise.all(Array.from({ length: 8 }, () => aProcess()));
  const sealed = await Promise.all(processes.map((each, number) => sealedBy(each, `message ${number}`)));
  for (const { openBookings } of processes) {
    const opened = await openBookings(sealed);
    expect(opened.map(({ message }) => message)).toEqual(processes.map((_, number) => `message ${number}`));
  }
});

test('a sealed text reveals nothing, and sealing it twice gives two results', async () => {
  const process = await aProcess();
  const [one, other] = [await sealedBy(process, 'Forty guests'), await sealedBy(process, 'Forty guests')];
  expect(JSON.stringify(one)).not.toContain('Forty');
  expect(one.message).not.toEqual(other.message);
  expect(one.message).toEqual({ subject: `brand:${one.brandId}`, sealed: expect.stringMatching(/^v1\./) });
});

test('a sealed text cannot be opened for another booking, subject or field', async () => {
  const process = await aProcess();
  const { message, ...data } = await sealedBy(process, 'Forty guests');
  const elsewhere = { ...data, message, bookingId: bookingId(999) };
  await expect(process.openBookings([elsewhere])).rejects.toThrow('cannot be opened');
  await expect(process.openReviews([{ ...data, message }])).rejects.toThrow('cannot be opened');
  await expect(process.openBookings([{ ...data, reason: message }])).rejects.toThrow('cannot be opened');
  await sealedBy(process, 'So that there is a key');
  const other = await process.sealText('community:1', ownerOf.booking(data), 'message', 'Water damage');
  const swapped: SealedText = { ...(message as SealedText), subject: 'community:1' };
  expect(other).toHaveProperty('sealed');
  await expect(process.openBookings([{ ...data, message: swapped }])).rejects.toThrow('cannot be opened');
});

test('a plain text that looks like a sealed one stays unchanged', async () => {
  const process = await aProcess();
  const text = JSON.stringify({ subject: 'brand:3', sealed: 'v1.AAAA' });
  const [opened] = await process.openBookings([{ ...requested().data, message: text }]);
  expect(opened?.message).toBe(text);
});

test('a key that is missing without having been destroyed is an error, and never an erased text', async () => {
  const process = await aProcess();
  const data = await sealedBy(process, 'Forty guests');
  const keys = await process.documents.open<object>({ name: 'subjectKeys', kind: 'record', indexes: [] });
  await keys.delete(`brand:${data.brandId}`);
  const other = await aProcess();
  await expect(other.openBookings([data])).rejects.toThrow(`The key of brand:${data.brandId} is missing`);
});

test('a key opens only under the secret key of the store', async () => {
  const data = await sealedBy(await aProcess(), 'Forty guests');
  const stranger = await aProcess(Buffer.alloc(32, 8));
  await expect(stranger.openBookings([data])).rejects.toThrow('wrong key');
});

test('the fingerprint of a request is that of its subject', async () => {
  const [one, other] = [await aProcess(), await aProcess()];
  const fingerprint = await one.fingerprint('brand:1', 'request');
  expect(await other.fingerprint('brand:1', 'request')).toBe(fingerprint);
  expect(await other.fingerprint('brand:2', 'request')).not.toBe(fingerprint);
});

test('every subject that is forgotten changes the version of what can be read, also by a clock that goes back', async () => {
  const [one, other] = [await aProcess(), await aProcess()];
  const versions = [await other.forgottenVersion()];
  const forget = async (subject: 'brand:1' | 'brand:2' | 'user:3', at: string) => {
    await one.destroyKey(subject, timestamp(at));
    versions.push(await other.forgottenVersion());
  };
  await forget('brand:2', '2026-12-01T12:00:00.000Z');
  await forget('user:3', '2026-11-01T12:00:00.000Z');
  await forget('brand:1', '2026-11-01T12:00:00.000Z');
  expect(new Set(versions).size).toBe(4);
  await forget('brand:1', '2026-12-02T12:00:00.000Z');
  expect(versions.at(-1)).toBe(versions.at(-2));
});

test('a process that has the key of a subject that another one forgets keeps nothing readable, and soon nothing at all', async () => {
  const [one, other] = [await aProcess(), await aProcess()];
  const before = await sealedBy(other, 'Forty guests');
  const subject = `brand:${before.brandId}` as const;
  await one.destroyKey(subject, timestamp('2026-12-01T12:00:00.000Z'));
  const inBetween = await other.sealText(subject, ownerOf.booking(before), 'message', 'Sixty guests');
  for (const { openBookings } of [one, other])
    for (const message of [before.message, inBetween])
      expect(await openBookings([{ ...before, message }])).toMatchObject([{ message: 'erased' }]);
  await eventually(async () => {
    expect(await other.sealEvent(requested({ message: 'Eighty guests' }), undefined)).toMatchObject({
      refused: 'BookingNotAllowed',
    });
    expect(await other.fingerprint(subject, 'request')).toMatchObject({ refused: 'BookingNotAllowed' });
  });
  expect(await one.sealEvent(requested({ message: 'Eighty guests' }), undefined)).toMatchObject({
    refused: 'BookingNotAllowed',
  });
});
