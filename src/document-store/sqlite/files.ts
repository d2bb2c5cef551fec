import { join } from 'node:path';
import type { FileName } from '../../sqlite/file-name.ts';
import type { Collection } from '../document-store.ts';
import { type FileOptions, openSqliteFile, type SqliteFile } from './file.ts';
import { generationFilesIn } from './generation-files.ts';

/** The files of the embedded document store, by the kind of the collections in them. */
export type SqliteFiles = Readonly<Record<Collection<object>['kind'], SqliteFile>>;

/** Opens both files in `folder`, creating what is missing. */
export async function openSqliteFiles(folder: string, options?: FileOptions): Promise<SqliteFiles> {
  const readModel = await openSqliteFile(readModelsFile(folder), 'lazy', options);
  const record = await openSqliteFile(recordsFile(folder), 'durable', options);
  return { readModel, record };
}

/** Every file of the embedded document store. */
export function filesIn(folder: string): readonly FileName[] {
  const readModels = readModelsFile(folder);
  const generations = generationFilesIn(folder).map((path) => ({ ...readModels, path }));
  return [recordsFile(folder), readModels, ...generations];
}

export const readModelsFile = (folder: string): FileName => ({
  what: 'read-model file',
  path: join(folder, 'read-models.sqlite'),
  repair: 'Rebuild the read models with: venue rebuild --from-nothing',
});
const recordsFile = (folder: string): FileName => ({
  what: 'record file',
  path: join(folder, 'records.sqlite'),
  repair: 'Replace the store with a backup: venue restore FILE --overwrite',
});
