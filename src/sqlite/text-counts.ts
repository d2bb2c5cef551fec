import { DatabaseSync } from 'node:sqlite';

/** Counts texts, each under a kind, in a temporary file of SQLite: there may be more of them than fit into memory. */
export class TextCounts {
  readonly #database = new DatabaseSync('');
  readonly #add;
  readonly #get;

  constructor() {
    this.#database.exec(`
      PRAGMA journal_mode = OFF;
      PRAGMA synchronous = OFF;
      CREATE TABLE counts (kind TEXT, text TEXT, count INTEGER NOT NULL, PRIMARY KEY (kind, text)) WITHOUT ROWID;
      BEGIN;
    `);
    this.#add = this.#database.prepare(
      'INSERT INTO counts VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1 RETURNING count',
    );
    this.#get = this.#database.prepare('SELECT count FROM counts WHERE kind = ? AND text = ?');
  }

  /** Counts a text. @returns how often it was counted before */
  add(kind: string, text: string): number {
    return Number(this.#add.get(kind, text)?.count) - 1;
  }

  has(kind: string, text: string): boolean {
    return this.#get.get(kind, text) !== undefined;
  }

  close(): void {
    this.#database.close();
  }
}
