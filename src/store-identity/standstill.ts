import type { DocumentStore } from '../document-store/document-store.ts';
import { MEMORY_KEY, memoryOfRecords, RECORDS_MEMORY, type RecordsMemory, type Standstill } from './store-memory.ts';

/** A sentence without its full stop, with the command to run. */
export function standstillProblem(
  { kind }: Pick<Standstill, 'kind'>,
  { log, records }: { log: string; records: string },
): string {
  switch (kind) {
    case 'restore':
      return `A restore into ${records} and ${log} has not been completed. Run it again: venue restore FILE`;
    case 'import':
      return `An import into ${records} and ${log} has not been completed. Run it again: venue import FILE`;
    case 'fence':
      return (
        `The store in ${records} and ${log} was exported with its records, to go on in another place, and is fenced. ` +
        'If that export was imported nowhere and is deleted, run: venue unfence --not-imported'
      );
  }
}

type Records = Pick<DocumentStore, 'open'>;

/** Whether a store is fenced. */
export async function isFenced(documents: Records): Promise<boolean> {
  return (await memoryOfRecords(documents))?.standstill?.kind === 'fence';
}

/**
 * Fences a store, so that no process can start on it. A process that is already starting notices when it confirms the identity.
 * @returns false if it was already fenced
 */
export const fence = (documents: Records): Promise<boolean> =>
  change(documents, (memory) => {
    if (memory.standstill?.kind === 'fence') return undefined;
    if (memory.standstill !== undefined)
      throw new Error('Cannot fence a store while a restore or an import is running');
    return { ...memory, standstill: { kind: 'fence' } };
  });

/** @returns false if it was not fenced */
export const liftFence = (documents: Records): Promise<boolean> =>
  change(documents, ({ standstill, ...memory }) => (standstill?.kind === 'fence' ? memory : undefined));

async function change(documents: Records, to: (memory: RecordsMemory) => RecordsMemory | undefined): Promise<boolean> {
  const records = await documents.open(RECORDS_MEMORY);
  const { isChanged } = await records.update(MEMORY_KEY, (memory) => {
    if (memory === undefined) throw new Error('The store has no identity yet');
    return to(memory);
  });
  return isChanged;
}
