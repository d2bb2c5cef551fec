import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { transaction } from '../../sqlite/database.ts';
import { GroupCommit } from '../../sqlite/group-commit.ts';
import { checkEvents } from '../check-event.ts';
import type { Appended, ExpectedRevision, NewEvent } from '../event-store.ts';
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

/** The outcome of an append. `actual` is the stream's revision after a conflict. */
export type AppendOutcome = Appended | { readonly actual: ExpectedRevision };

/** The rows of one commit, as a hint for other threads. */
export type CommittedGroup = {
  /** The position of the event before them, read in their own transaction. */
  readonly before: number;
  readonly rows: readonly CommittedRow[];
};

/** The columns of an event, in the order of `EVENT_COLUMNS`. */
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

/** @throws {TypeError} for events that the log cannot hold */
export const rowsOf = (events: readonly NewEvent[]): EventRow[] =>
  checkEvents(events).map(({ id, type, data, metadata }) => ({
    ...{ id, type },
    data: JSON.stringify(data),
    metadata: JSON.stringify(metadata),
  }));

/** Appends on its own connection. All appends waiting when the disk becomes free share one commit. */
export class LogWriter {
  readonly #commits: GroupCommit;
  readonly #statements;
  /** The rows of the current transaction. */
  #rows: CommittedRow[] = [];

  /** @param deps.committed called right after each commit */
  constructor(deps: { readonly database: DatabaseSync; readonly committed: (group: CommittedGroup) => void }) {
    const { database, committed } = deps;
    this.#commits = new GroupCommit({
      durability: 'durable',
      transaction: async (work) => {
        const before = await transaction(database, 'durable', () => {
          this.#rows = [];
          const end = Number(this.#statements.end.get()?.position ?? 0);
          work();
          return end;
        });
        if (this.#rows.length > 0) committed({ before, rows: this.#rows });
      },
    });
    this.#statements = {
      end: database.prepare('SELECT max(position) AS position FROM events'),
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
      this.#rows.push([Number(position), stream, revision, id, type, data, metadata]);
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

/** Opens the log only for appends, in the thread that appends for the others. */
export async function openLogWriter(
  path: string,
  committed: (group: CommittedGroup) => void,
): Promise<{ readonly append: AppendToLog; close(): Promise<void> }> {
  const database = await openLogFile(path);
  const writer = new LogWriter({ database, committed });
  return {
    append: writer.append,
    async close() {
      await writer.settled();
      database.close();
    },
  };
}
