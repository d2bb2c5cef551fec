import type { DocumentStore } from '../document-store/document-store.ts';
import { MEMORY_KEY, RECORDS_MEMORY, type RecordsMemory } from './store-memory.ts';

/**
 * Why no process may start on a store: a restore or an import has not been completed, or the store was exported to go on in another
 * place and is fenced.
 */
export type Standstill = 'restore' | 'import' | 'fence';

// Earlier releases know the field, take any value for a restore that has not been completed, and do not start either.
const FENCED = 'fenced';
const IMPORT = 'import ';

/** What the records remember while an export is being imported. */
export const importOf = (sha256: string): string => `${IMPORT}${sha256}`;

export function standstillOf({ restoring }: Pick<RecordsMemory, 'restoring'>): Standstill | undefined {
  if (restoring === undefined) return undefined;
  if (restoring === FENCED) return 'fence';
  return restoring.startsWith(IMPORT) ? 'import' : 'restore';
}

/** One sentence without its full stop that ends with the command that mends it. */
export function standstillProblem(standstill: Standstill, { log, records }: { log: string; records: string }): string {
  switch (standstill) {
    case 'restore':
      return `A restore into ${records} and ${log} has not been completed. Run it again: venue restore DIR`;
    case 'import':
      return `An import into ${records} and ${log} has not been completed. Run it again: venue import FILE`;
    case 'fence':
      return `The store in ${records} and ${log} was exported with its records, to go on in another place, and is fenced. If that export was imported nowhere and is deleted, run: venue unfence --not-imported`;
  }
}

type Records = Pick<DocumentStore, 'open'>;

/** Whether a store is fenced. */
export async function isFenced(documents: Records): Promise<boolean> {
  return (await memoryOf(documents))?.restoring === FENCED;
}

/**
 * Fences a store that has its identity: no process starts on it any more. One that began to start before notices when it confirms
 * the identity.
 * @returns false if it was fenced before
 */
export const fence = (documents: Records): Promise<boolean> =>
  change(documents, (memory) => {
    if (memory.restoring === FENCED) return undefined;
    if (memory.restoring !== undefined) throw new Error('A store that is being filled cannot be fenced');
    return { ...memory, restoring: FENCED };
  });

/** @returns false if it was not fenced */
export const liftFence = (documents: Records): Promise<boolean> =>
  change(documents, ({ restoring, ...memory }) => (restoring === FENCED ? memory : undefined));

async function change(documents: Records, to: (memory: RecordsMemory) => RecordsMemory | undefined): Promise<boolean> {
  const records = await documents.open(RECORDS_MEMORY);
  for (;;) {
    const stored = await records.get(MEMORY_KEY);
    if (stored === undefined) throw new Error('The store has no identity yet');
    const changed = to(stored.document);
    if (changed === undefined) return false;
    if (await records.replace(MEMORY_KEY, changed, stored.version)) return true;
  }
}

const memoryOf = async (documents: Records): Promise<RecordsMemory | undefined> =>
  (await (await documents.open(RECORDS_MEMORY)).get(MEMORY_KEY))?.document;
