import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { OperatedDocumentStore } from '../../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../../src/document-store/sqlite/document-store.ts';
import {
  documentReads,
  expectWholeOrThrown,
  fillDocuments,
  openDocumentSubject,
} from '../../contract/reads-under-faults.ts';
import { sqliteFaults } from '../../sqlite/faults.ts';

describe('reads of documents on SQLite yield everything or throw under any fault', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'venue-faults-'));
    const store = await openSqliteDocumentStore({ folder });
    await fillDocuments(await openDocumentSubject(store));
    await store.close();
  });
  afterAll(() => rm(folder, { recursive: true }));

  test.each(Object.entries(documentReads))('%s', async (_, read) => {
    let store: OperatedDocumentStore | undefined;
    const open = async () => {
      // With an empty cache.
      await store?.close();
      store = await openSqliteDocumentStore({ folder });
      return openDocumentSubject(store);
    };
    const faults = sqliteFaults();
    try {
      await expectWholeOrThrown(read, { open, faults });
    } finally {
      faults.restore();
      await store?.close();
    }
  });
});
