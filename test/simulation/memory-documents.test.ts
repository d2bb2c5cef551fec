import { describe, expect, test } from 'vitest';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { documentStoreContract } from '../contract/document-store.ts';
import {
  countedFaults,
  documentReads,
  expectWholeOrThrown,
  fillDocuments,
  openDocumentSubject,
} from '../contract/reads-under-faults.ts';
import { newDocumentsDisk, openMemoryDocuments, removeExpired } from './memory-documents.ts';

describe('document store in memory', () => {
  documentStoreContract(async () => {
    const disk = newDocumentsDisk();
    const stores: OperatedDocumentStore[] = [];
    return {
      async open() {
        const store = openMemoryDocuments(disk);
        stores.push(store);
        return store;
      },
      async remove() {
        await Promise.all(stores.map((store) => store.close()));
      },
    };
  });
});

describe('reads of documents in memory yield everything or throw under any fault', () => {
  test.each(Object.entries(documentReads))('%s', async (_, read) => {
    const disk = newDocumentsDisk();
    await fillDocuments(await openDocumentSubject(openMemoryDocuments(disk)));
    const { faults, fails } = countedFaults();
    const before = () => {
      if (fails()) throw new Error('The store does not answer');
    };
    const open = () => openDocumentSubject(openMemoryDocuments(disk, { watch: { before } }));
    await expectWholeOrThrown(read, { open, faults });
  });
});

test('removes what has expired', async () => {
  const disk = newDocumentsDisk();
  const visits = await openMemoryDocuments(disk).open<{ readonly until?: string }>({
    name: 'visits',
    kind: 'record',
    ttl: 'until',
    indexes: [],
  });
  await visits.insert('over', { until: '2026-01-01T00:00:00.000Z' });
  await visits.insert('lasting', { until: '2026-01-01T00:00:00.001Z' });
  await visits.insert('without end', {});
  removeExpired(disk, Date.parse('2026-01-01T00:00:00.001Z'));
  expect((await visits.getMany(['over', 'lasting', 'without end'])).map(({ key }) => key)).toEqual([
    'lasting',
    'without end',
  ]);
});
