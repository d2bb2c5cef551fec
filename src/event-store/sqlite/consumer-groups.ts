import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isKnownDead, THIS_PROCESS } from '../../runtime/process-liveness.ts';
import { transaction } from '../../sqlite/database.ts';
import type { Position } from '../event-store.ts';
import { numberOf, positionOf } from './stored-event.ts';

/** The consumer that handles the events of a group, while the other consumers stand by. */
export type ActiveConsumer = {
  /** See {@link newConsumer}. */
  readonly consumer: string;
  /** Changes each time the consumer stores its checkpoint. */
  readonly beat: number;
};

/** The id of a new consumer, which names its process. */
export const newConsumer = (): string => JSON.stringify({ ...THIS_PROCESS, id: randomUUID() });

/** Whether the process of a consumer has certainly ended. */
export const hasEnded = ({ consumer }: ActiveConsumer): boolean => isKnownDead(JSON.parse(consumer));

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
      // An earlier release stores events that it has claimed below the checkpoint as rows of deliveries.
      position: prepare(
        `SELECT min(checkpoint, ifnull((SELECT min(position) - 1 FROM deliveries WHERE group_name = name), checkpoint)) AS position FROM groups WHERE name = ?`,
      ),
      advance: prepare('UPDATE groups SET checkpoint = ?1 WHERE name = ?2 AND checkpoint < ?1'),
      forgetClaims: prepare('DELETE FROM deliveries WHERE group_name = ? AND position <= ?'),
      active: prepare('SELECT consumer, beat FROM active_consumers WHERE group_name = ?'),
      activate: prepare(
        `INSERT INTO active_consumers (group_name, consumer, beat) VALUES (?1, ?2, 0)
         ON CONFLICT (group_name) DO UPDATE SET consumer = ?2, beat = beat + 1 WHERE consumer = ?3 AND beat = ?4`,
      ),
      beat: prepare('UPDATE active_consumers SET beat = beat + 1 WHERE group_name = ? AND consumer = ?'),
      deactivate: prepare('DELETE FROM active_consumers WHERE group_name = ? AND consumer = ?'),
    };
  }

  /** Does nothing if the group exists. */
  async create(group: string, after: Position): Promise<void> {
    await transaction(this.#database, 'lazy', () => this.#statements.create.run(group, numberOf(after)));
  }

  async move(group: string, after: Position): Promise<void> {
    await transaction(this.#database, 'durable', () => {
      this.#statements.move.run(group, numberOf(after));
      this.#statements.forgetClaims.run(group, Number.MAX_SAFE_INTEGER);
    });
  }

  /** Every event of the group up to there has been handled. Undefined if the group does not exist. */
  position(group: string): Position | undefined {
    const found = this.#statements.position.get(group);
    return found === undefined ? undefined : positionOf(Number(found.position));
  }

  active(group: string): ActiveConsumer | undefined {
    const row = this.#statements.active.get(group);
    return row && { consumer: String(row.consumer), beat: Number(row.beat) };
  }

  /**
   * Makes a consumer the active one of its group.
   * @param instead the consumer that it replaces
   * @returns the position after which it begins; undefined if another consumer was faster, or the replaced one is active after all
   */
  async activate(group: string, consumer: string, instead: ActiveConsumer | undefined): Promise<Position | undefined> {
    return transaction(this.#database, 'lazy', () => {
      const replaced = [instead?.consumer ?? null, instead?.beat ?? null] as const;
      const { changes } = this.#statements.activate.run(group, consumer, ...replaced);
      return changes === 0 ? undefined : this.position(group);
    });
  }

  /**
   * Stores the checkpoint of the active consumer, which also shows that it is alive.
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
    if (this.#statements.beat.run(group, consumer).changes === 0) return false;
    this.#statements.advance.run(checkpoint, group);
    this.#statements.forgetClaims.run(group, checkpoint);
    return true;
  }
}
