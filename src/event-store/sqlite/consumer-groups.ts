import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { transaction } from '../../sqlite/database.ts';
import type { Position } from '../event-store.ts';
import { numberOf, positionOf } from './stored-event.ts';

/**
 * The checkpoints of the consumer groups in the log file. Commits are lazy: losing the last ones redelivers events, but loses none
 * (docs/decisions/stores.md).
 */
export class ConsumerGroups {
  readonly #database: DatabaseSync;
  readonly #statements;

  constructor(database: DatabaseSync) {
    this.#database = database;
    const prepare = (sql: string): StatementSync => database.prepare(sql);
    this.#statements = {
      create: prepare('INSERT OR IGNORE INTO groups (name, checkpoint) VALUES (?, ?)'),
      move: prepare(
        'INSERT INTO groups (name, checkpoint) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET checkpoint = excluded.checkpoint',
      ),
      position: prepare('SELECT checkpoint FROM groups WHERE name = ?'),
      advance: prepare('UPDATE groups SET checkpoint = ?1 WHERE name = ?2 AND checkpoint < ?1'),
    };
  }

  /** Does nothing if the group exists. */
  async create(group: string, after: Position): Promise<void> {
    await transaction(this.#database, 'lazy', () => this.#statements.create.run(group, numberOf(after)));
  }

  async move(group: string, after: Position): Promise<void> {
    await transaction(this.#database, 'durable', () => this.#statements.move.run(group, numberOf(after)));
  }

  /** Every event of the group up to there has been handled. Undefined if the group does not exist. */
  position(group: string): Position | undefined {
    const row = this.#statements.position.get(group);
    return row === undefined ? undefined : positionOf(Number(row.checkpoint));
  }

  /** Moves the checkpoint forward. */
  async advance(group: string, checkpoint: number): Promise<void> {
    await transaction(this.#database, 'lazy', () => this.#statements.advance.run(checkpoint, group));
  }
}
