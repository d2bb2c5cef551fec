import type { DatabaseSync } from 'node:sqlite';
import { type TakeWalStep, transaction } from '../../sqlite/database.ts';
import { GroupCommit } from '../../sqlite/group-commit.ts';
import { checkEvents } from '../check-event.ts';
import type { Appended, ExpectedRevision, NewEvent } from '../event-store.ts';
import { openLogFile } from './log-file.ts';
import { positionOf, prepareRevision } from './stored-event.ts';

/** An event as its row in the log holds it. */
export type EventRow = { readonly id: string; readonly type: string; readonly data: string; readonly metadata: string };

/** An append whose events have been checked. It can be handed to another thread, and repeated. */
export type Append = {
  readonly stream: string;
  readonly rows: readonly EventRow[];
  readonly expectedRevision: ExpectedRevision;
};

/**
 * The outcome of an append. `before` is the position of the event before it, read in the same transaction; absent if it had been stored
 * earlier. `actual` is the stream's revision after a conflict.
 */
export type AppendOutcome = (Appended & { readonly before?: number }) | { readonly actual: ExpectedRevision };

/** The columns of a stored event, in the order of `EVENT_COLUMNS`. */
export type CommittedRow = readonly [
  position: number,
  stream: string,
  revision: number,
  id: string,
  type: string,
  data: string,
  metadata: string,
];

/** Appends atomically and durably. Repeating an append is safe: the same event ids give the same result. */
export type AppendToLog = (append: Append) => Promise<AppendOutcome>;

/** The rows of an append that was stored. They have consecutive positions and revisions, up to these. */
export function committedRows(
  { stream, rows }: Append,
  { position, revision }: { readonly position: number; readonly revision: number },
): CommittedRow[] {
  return rows.map(({ id, type, data, metadata }, index) => {
    const left = rows.length - 1 - index;
    return [position - left, stream, revision - left, id, type, data, metadata];
  });
}

/** @throws {TypeError} for events that the log cannot hold */
export const rowsOf = (events: readonly NewEvent[]): EventRow[] =>
  checkEvents(events).map(({ id, type, data, metadata }) => ({
    id,
    type,
    data: JSON.stringify(data),
    metadata: JSON.stringify(metadata),
  }));

/** Appends on its own connection. All appends waiting when the disk becomes free share one commit. */
export class LogWriter {
  readonly #commits: GroupCommit;
  readonly #statements;
  /** The position of the last event, in the current transaction. */
  #end = 0;

  constructor(database: DatabaseSync) {
    this.#commits = new GroupCommit({
      durability: 'durable',
      transaction: (work) =>
        transaction(database, 'durable', () => {
          this.#end = Number(this.#statements.end.get()?.position ?? 0);
          work();
        }),
    });
    this.#statements = {
      end: database.prepare('SELECT max(position) AS position FROM events'),
      revision: prepareRevision(database),
      insert: database.prepare(
        'INSERT INTO events (stream, revision, id, type, data, metadata) VALUES (?, ?, ?, ?, ?, ?) RETURNING position',
      ),
      appended: database.prepare(
        'SELECT id, position FROM events WHERE stream = ? AND revision BETWEEN ? AND ? ORDER BY revision',
      ),
    };
  }

  readonly append: AppendToLog = (append) => this.#commits.write(() => this.#insert(append));

  /** Resolves when nothing is waiting to be committed. */
  settled(): Promise<void> {
    return this.#commits.settled();
  }

  #insert({ stream, rows, expectedRevision }: Append): AppendOutcome {
    const actual = this.#statements.revision(stream);
    if (expectedRevision !== actual) return this.#findAppended(stream, rows, expectedRevision) ?? { actual };
    let revision = actual === 'none' ? -1 : actual;
    const before = this.#end;
    for (const { id, type, data, metadata } of rows) {
      revision += 1;
      this.#end = Number(this.#statements.insert.get(stream, revision, id, type, data, metadata)?.position);
    }
    return { revision, position: positionOf(this.#end), before };
  }

  /** Appends are idempotent, as in EventStoreDB: repeated with the same event ids, one returns the original result. */
  #findAppended(stream: string, rows: readonly EventRow[], expected: ExpectedRevision): Appended | undefined {
    const first = expected === 'none' ? 0 : expected + 1;
    const revision = first + rows.length - 1;
    const stored = this.#statements.appended.all(stream, first, revision);
    if (stored.length !== rows.length || stored.some((row, index) => row.id !== rows[index]?.id)) return undefined;
    return { revision, position: positionOf(Number(stored.at(-1)?.position)) };
  }
}

/** Opens the log only for appends, in the thread that appends for another one. */
export async function openLogWriter(
  path: string,
  walSteps: TakeWalStep,
): Promise<{ readonly append: AppendToLog; close(): Promise<void> }> {
  const database = await openLogFile(path, walSteps);
  const writer = new LogWriter(database);
  return {
    append: writer.append,
    async close() {
      await writer.settled();
      database.close();
    },
  };
}
