import type { StatementSync } from 'node:sqlite';
import { transaction } from '../../sqlite/database.ts';
import type { Consume, Consumer, CreateGroup, HandleEvent, Position } from '../event-store.ts';
import { GroupConsumer, type GroupsDeps } from './group-consumer.ts';
import { GroupMembers } from './group-members.ts';
import { numberOf, positionOf } from './stored-event.ts';

/**
 * Persistent subscriptions: consumer groups that keep their state in the log file. Commits are lazy: losing the last ones
 * redelivers events, but loses none (docs/decisions/stores.md).
 */
export class ConsumerGroups {
  readonly #deps: GroupsDeps;
  readonly #consumers = new Set<GroupConsumer>();
  readonly #create: StatementSync;
  readonly #move: StatementSync;
  readonly #forget: StatementSync;
  readonly #position: StatementSync;

  constructor(deps: Omit<GroupsDeps, 'members'>) {
    const { database, tail } = deps;
    this.#deps = { ...deps, members: new GroupMembers(database, tail) };
    this.#create = database.prepare('INSERT OR IGNORE INTO groups (name, checkpoint) VALUES (?, ?)');
    this.#move = database.prepare(
      'INSERT INTO groups (name, checkpoint) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET checkpoint = excluded.checkpoint',
    );
    this.#forget = database.prepare('DELETE FROM deliveries WHERE group_name = ?');
    // Below the checkpoint, only events with a row in deliveries are unacknowledged.
    this.#position = database.prepare(
      `SELECT min(checkpoint, ifnull((SELECT min(position) - 1 FROM deliveries WHERE group_name = name), checkpoint)) AS position FROM groups WHERE name = ?`,
    );
  }

  async create(group: string, { after }: CreateGroup): Promise<void> {
    await transaction(this.#deps.database, 'lazy', () => this.#create.run(group, numberOf(after)));
  }

  async move(group: string, { after }: CreateGroup): Promise<void> {
    await transaction(this.#deps.database, 'durable', () => {
      this.#move.run(group, numberOf(after));
      this.#forget.run(group);
    });
  }

  async position(group: string): Promise<Position | undefined> {
    const found = this.#position.get(group);
    return found === undefined ? undefined : positionOf(Number(found.position));
  }

  async consume(group: string, options: Consume, handler: HandleEvent): Promise<Consumer> {
    await transaction(this.#deps.database, 'lazy', () => this.#create.run(group, 0));
    const consumer = new GroupConsumer(group, options, handler, this.#deps);
    this.#consumers.add(consumer);
    return {
      close: async () => {
        await consumer.close();
        this.#consumers.delete(consumer);
      },
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#consumers].map((consumer) => consumer.close()));
  }
}
