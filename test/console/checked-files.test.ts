import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type CheckedFiles, openCheckedFiles } from '../../src/console/sessions/checked-files.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { createPersonalData } from '../../src/personal-data/personal-data.ts';
import { accepted } from '../accepted.ts';

let folder: string;
let documents: OperatedDocumentStore;
let files: CheckedFiles;
let now = Date.parse('2026-12-01T12:00:00Z');
const clock = () => now;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-files-'));
  documents = await openSqliteDocumentStore({ folder, clock });
  const personalData = createPersonalData({ documents, secretKey: Buffer.alloc(32, 1), clock });
  files = await openCheckedFiles({ documents, personalData, clock });
});
afterEach(async () => {
  await documents.close();
  await rm(folder, { recursive: true });
});

function ownerOf(session: string, userId = 'usr_1', id = 1) {
  const account = { kind: 'Community', id: communityId(id) } as const;
  const at = toTimestamp(now);
  return {
    session,
    account,
    user: { id: userId, email: 'ada@example.com', memberships: [], createdAt: at, passwordChangedAt: at },
  };
}

test('a file belongs to a session and an account, and is kept for an hour', async () => {
  const owner = ownerOf('one');
  const id = accepted(await files.keep(owner, 'date,start'));
  expect(await files.get(owner, id)).toBe('date,start');
  expect(await files.get(ownerOf('two'), id)).toBeUndefined();
  expect(await files.get(ownerOf('one', 'usr_1', 2), id)).toBeUndefined();
  expect(await files.get({ ...owner, account: { kind: 'Brand', id: brandId(1) } }, id)).toBeUndefined();
  now += 3_600_000;
  expect(await files.get(owner, id)).toBeUndefined();
});

test('a session keeps its last file, and an account those of ten sessions', async () => {
  const first = accepted(await files.keep(ownerOf('s0'), 'first'));
  for (let session = 0; session < 10; session += 1) accepted(await files.keep(ownerOf(`s${session}`), 'next'));
  expect(await files.get(ownerOf('s0'), first)).toBeUndefined();
  expect(await files.keep(ownerOf('s10'), 'more')).toMatchObject({ refused: 'ValidationError' });
  accepted(await files.keep(ownerOf('s0'), 'once more'));
  accepted(await files.keep(ownerOf('of another', 'usr_1', 2), 'more'));
  await files.delete(ownerOf('s1'));
  accepted(await files.keep(ownerOf('s10'), 'more'));
});

test('the files of a user who is removed are deleted, and no others', async () => {
  const [own, other] = [ownerOf('one'), ownerOf('two', 'usr_2')];
  const [mine, theirs] = [accepted(await files.keep(own, 'mine')), accepted(await files.keep(other, 'theirs'))];
  await files.deleteAllOf('usr_1');
  expect(await files.get(own, mine)).toBeUndefined();
  expect(await files.get(other, theirs)).toBe('theirs');
});
