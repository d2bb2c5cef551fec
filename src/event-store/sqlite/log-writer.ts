import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { transaction } from '../../sqlite/database.ts';
import { GroupCommit } from '../../sqlite/group-commit.ts';
import { checkEvents } from '../check-event.ts';
import type { Appended, ExpectedRevision, NewEvent } from '../event-store.ts';
import { LogChanges } from './log-changes.ts';
import { openLogFile } from './log-file.ts';
import { positionOf } from './stored-event.ts';

/** An event as its row in the log holds it. */
export type EventRow = { readonly id: string; readonly type: string; readonly data: string; readonly metadata: string };

/** An append whose events have been checked. It can be handed to another thread, and repeated. */
export type Append = {
  readonly stream: string;
  readonly rows: readonly EventRow[];
  readonly expectedRevision: ExpectedRevision;
};

/** What became of an append. `actual` is the revision that the stream is at instead. */
export type AppendOutcome = Appended | { readonly actual: ExpectedRevision };

/** Appends atomically and durably. Repeating an append is safe: the same event ids give the same result. */
export type AppendToLog = (append: Append) => Promise<AppendOutcome>;

/** @throws {TypeError} for events that the log cannot hold */
export const rowsOf = (events: readonly NewEvent[]): EventRow[] =>
  checkEvents(events).map(({ id, type, data, metadata }) => ({
    ...{ id, type },
    data: JSON.stringify(data),
    metadata: JSON.stringify(metadata),
  }));

/** Appends on a connection of its own: whatever is waiting when the disk becomes free shares one commit. */
export class LogWriter {
  readonly #commits: GroupCommit;
  readonly #statements;

  /** @param deps.committed called after each commit */
  constructor(deps: { readonly database: DatabaseSync; readonly committed: () => void }) {
    const { database, committed } = deps;
    this.#commits = new GroupCommit({
      durability: 'durable',
      transaction: async (work) => {
        await transaction(database, 'durable', work);
        committed();
      },
    });
    this.#statements = {
      revision: database.prepare('SELECT max(revision) AS revision FROM events WHERE stream = ?'),
      insert: database.prepare(
        'INSERT INTO events (stream, revision, id, type, data, metadata) VALUES (?, ?, ?, ?, ?, ?) RETURNING position',
      ),
      written: database.prepare(
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
    const last = this.#statements.revision.get(stream)?.revision ?? null;
    const actual = last === null ? 'none' : Number(last);
    if (expectedRevision !== actual) return this.#findAppended(stream, rows, expectedRevision) ?? { actual };
    let revision = actual === 'none' ? -1 : actual;
    let position: SQLOutputValue | undefined;
    for (const { id, type, data, metadata } of rows) {
      revision += 1;
      position = this.#statements.insert.get(stream, revision, id, type, data, metadata)?.position;
    }
    return { revision, position: positionOf(Number(position)) };
  }

  /** Appends are idempotent, as in EventStoreDB: repeated with the same event ids, one returns the original result. */
  #findAppended(stream: string, rows: readonly EventRow[], expected: ExpectedRevision): Appended | undefined {
    const first = expected === 'none' ? 0 : expected + 1;
    const revision = first + rows.length - 1;
    const written = this.#statements.written.all(stream, first, revision);
    if (written.length !== rows.length || written.some((row, index) => row.id !== rows[index]?.id)) return undefined;
    return { revision, position: positionOf(Number(written.at(-1)?.position)) };
  }
}

/** Opens the log for nothing but appends, for a thread that does so for others. */
export async function openLogWriter(path: string): Promise<{ readonly append: AppendToLog; close(): Promise<void> }> {
  const database = await openLogFile(path);
  const changes = new LogChanges(database, path);
  const writer = new LogWriter({ database, committed: () => changes.committed() });
  return {
    append: writer.append,
    async close() {
      await writer.settled();
      changes.close();
      database.close();
    },
  };
}
