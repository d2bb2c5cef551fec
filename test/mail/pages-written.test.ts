import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import type { NewMail } from '../../src/mail/mail.ts';
import { MailQueue } from '../../src/mail/mail-queue.ts';

/** A page of the file, with its header in the WAL. */
const FRAME = 4_096 + 24;
const BATCH = 50;

test('a mail that waits for a digest writes two pages of the embedded store at most', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mails-'));
  const documents = await openSqliteDocumentStore({ folder });
  onTestFinished(async () => {
    await documents.close();
    rmSync(folder, { recursive: true });
  });
  let now = Date.now();
  const queue = await MailQueue.open({ documents, clock: () => now });
  const mail = (): NewMail => ({
    kind: 'BookingRequested',
    cause: crypto.randomUUID(),
    userId: 'usr_1',
    account: 'Community:1',
    about: { bookingId: 1, spaceId: 1 },
    at: toTimestamp(now),
  });
  /** As many as a community gets in a few seconds, a batch in 100 ms. @returns the pages that each wrote */
  async function store(count: number): Promise<number> {
    const size = () => statSync(join(folder, 'records.sqlite-wal')).size;
    const before = size();
    for (let stored = 0; stored < count; stored += BATCH) {
      now += 100;
      await queue.addAll(Array.from({ length: BATCH }, mail));
    }
    return (size() - before) / FRAME / count;
  }
  await store(1_000);
  expect(await store(1_000)).toBeLessThan(2);
});
