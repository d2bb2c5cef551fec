import { existsSync } from 'node:fs';
import { UnusableStore } from '../runtime/unusable-store.ts';
import type { FileName } from './file-name.ts';
import { NamedDatabase } from './named-database.ts';

/**
 * Reads every page of a database, unless it has been removed. Opening one reads only some of them, so damage may go unnoticed for long.
 * Others read and write meanwhile.
 * @throws {UnusableStore} if the file is damaged
 */
export function checkFile(file: FileName): void {
  // SQLite would create it again.
  if (!existsSync(file.path)) return;
  const database = new NamedDatabase(file);
  try {
    const [finding] = Object.values(database.prepare('PRAGMA integrity_check(1)').get() ?? {});
    if (finding !== 'ok')
      throw new UnusableStore(
        `The ${file.what} ${file.path} is damaged (${inOneLine(String(finding))}). ${file.repair}`,
      );
  } finally {
    database.close();
  }
}

const inOneLine = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .join(': ');
