import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isKnownDead, THIS_PROCESS } from '../../runtime/process-liveness.ts';
import { transaction } from '../../sqlite/database.ts';
import type { Position } from '../event-store.ts';
import { numberOf, positionOf } from './stored-event.ts';

/** The id of a new consumer, which names its process. */
export const newConsumer = (): string => JSON.stringify({ ...THIS_PROCESS, id: randomUUID() });

/** Whether the process of a consumer has certainly ended. */
const hasEnded = (consumer: string): boolean => isKnownDead(JSON.parse(consumer));

/**
 * The state of the consumer groups in the log file: the checkpoint and the active consumer of each. Commits are lazy: losing the
 * last ones redelivers events, but loses none (docs/decisions/stores.md).
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
      active: prepare('SELECT consumer FROM active_consumers WHERE group_name = ?'),
      activate: prepare(
        `INSERT INTO active_consumers (group_name, consumer) VALUES (?1, ?2)
         ON CONFLICT (group_name) DO UPDATE SET consumer = ?2`,
      ),
      deactivate: prepare('DELETE FROM active_consumers WHERE group_name = ? AND consumer = ?'),
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

  /** The consumer that handles the events of the group. The others stand by. */
  active(group: string): string | undefined {
    const row = this.#statements.active.get(group);
    return row && String(row.consumer);
  }

  /**
   * Makes a consumer the active one of its group, unless another one is that may be alive.
   * @param isNew it also takes over from that one
   * @returns the position after which it begins; undefined if it stands by
   */
  async activate(group: string, consumer: string, isNew: boolean): Promise<Position | undefined> {
    return transaction(this.#database, 'lazy', () => {
      const active = this.active(group);
      if (!isNew && active !== undefined && active !== consumer && !hasEnded(active)) return undefined;
      this.#statements.activate.run(group, consumer);
      return this.position(group);
    });
  }

  /**
   * Stores the checkpoint of the active consumer.
   * @returns false if another consumer has taken the group over
   */
  async store(group: string, consumer: string, checkpoint: number): Promise<boolean> {
    return transaction(this.#database, 'lazy', () => this.#store(group, consumer, checkpoint));
  }

  /** Stores the checkpoint and frees the group for the other consumers. Does nothing if another one has taken it over. */
  async leave(group: string, consumer: string, checkpoint: number): Promise<void> {
    await transaction(this.#database, 'lazy', () => {
      if (this.#store(group, consumer, checkpoint)) this.#statements.deactivate.run(group, consumer);
    });
  }

  #store(group: string, consumer: string, checkpoint: number): boolean {
    if (this.active(group) !== consumer) return false;
    this.#statements.advance.run(checkpoint, group);
    return true;
  }
}
