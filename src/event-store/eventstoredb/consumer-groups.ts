import { setTimeout as sleep } from 'node:timers/promises';
import {
  eventTypeFilter,
  PersistentSubscriptionDoesNotExistError,
  PersistentSubscriptionExistsError,
  persistentSubscriptionToAllSettingsFromDefaults,
  START,
} from '@eventstore/db-client';
import {
  type Consume,
  type Consumer,
  type CreateGroup,
  type HandleEvent,
  LOG_START,
  type Position,
} from '../event-store.ts';
import type { Connection } from './connection.ts';
import { startConsumer } from './consumer.ts';
import type { NodeClient } from './node-client.ts';
import { managing } from './rights.ts';
import { positionOf, serverPosition } from './stored-event.ts';

/**
 * The server parks an event after this many retries. High enough never to happen, because the count also grows when a consumer
 * leaves the group, which is not the event's fault.
 */
const MAX_RETRIES = 1_000_000_000;
/** Attempts to recreate a group at a position, and the growing pause between them. */
const MOVE_ATTEMPTS = 4;
const MOVE_PAUSE_MS = 100;

type GroupInfo = Awaited<ReturnType<NodeClient['getPersistentSubscriptionToAllInfo']>>;

/** Persistent subscriptions to `$all`, filtered by the server. */
export function createConsumerGroups(connection: Connection, messageTimeoutMs: number) {
  const { names, deadlineMs: deadline } = connection;
  const consumers = new Set<Consumer>();

  /**
   * Creates the group unless it exists.
   * @returns the position after which the group begins
   */
  async function create(name: string, { types, after }: CreateGroup): Promise<Position> {
    const group = names.onServer(name);
    const from = serverPosition(after);
    const settings = persistentSubscriptionToAllSettingsFromDefaults({
      // The default is the end of the log: events older than the group would never be delivered.
      startFrom: from === 'start' ? START : from,
      messageTimeout: messageTimeoutMs,
      maxRetryCount: MAX_RETRIES,
      // Checkpoint every second with acknowledgements, so that few events are redelivered.
      checkPointAfter: 1_000,
      checkPointLowerBound: 1,
    });
    // The filter cannot be changed later. Consumers never get the events that it drops.
    const filter = eventTypeFilter({ regex: names.filter(types) });
    try {
      await connection.retryWhileStarting(`Creating consumer group ${group}`, () =>
        connection.call(managing('the creation', group), (client) =>
          client.createPersistentSubscriptionToAll(group, settings, { filter, deadline }),
        ),
      );
      return after;
    } catch (error) {
      if (!(error instanceof PersistentSubscriptionExistsError)) throw error;
      return startOf(await info(name));
    }
  }

  async function remove(name: string): Promise<void> {
    const group = names.onServer(name);
    try {
      await connection.call(managing('the removal', group), (client) =>
        client.deletePersistentSubscriptionToAll(group, { deadline }),
      );
    } catch (error) {
      if (!(error instanceof PersistentSubscriptionDoesNotExistError)) throw error;
    }
  }

  /** Undefined if the group does not exist. */
  async function info(name: string): Promise<GroupInfo | undefined> {
    const group = names.onServer(name);
    try {
      return await connection.retryWhileStarting(`Looking at consumer group ${group}`, () =>
        connection.call(managing('a read of the state', group), (client) =>
          client.getPersistentSubscriptionToAllInfo(group, { deadline }),
        ),
      );
    } catch (error) {
      if (error instanceof PersistentSubscriptionDoesNotExistError) return undefined;
      throw error;
    }
  }

  async function position(name: string): Promise<Position | undefined> {
    const group = await info(name);
    const reached = group?.stats.lastCheckpointedEventPosition;
    return reached === undefined ? group && startOf(group) : positionOf(reached);
  }

  return {
    create,
    position,

    /**
     * Recreates the group at the position, because the server cannot move one. Does nothing if it is already there. Parked messages
     * are lost.
     */
    async move(name: string, options: CreateGroup): Promise<void> {
      for (let attempt = 1; attempt <= MOVE_ATTEMPTS; attempt += 1) {
        const before = await position(name);
        if (before === options.after) return;
        if (before !== undefined) {
          await remove(name);
          // The server may still be removing the old group's checkpoint, which the new group must not find.
          await sleep(MOVE_PAUSE_MS * attempt);
        }
        await create(name, options);
      }
      const now = await position(name);
      if (now !== options.after)
        throw new Error(`Consumer group ${name} stands at ${now} and cannot be moved to ${options.after}`);
    },

    async consume(name: string, options: Consume, handler: HandleEvent): Promise<Consumer> {
      const begin = () => create(name, { types: options.types, after: LOG_START });
      const beginsAfter = await begin();
      const consumer = startConsumer({ connection, group: names.onServer(name), options, handler, begin, beginsAfter });
      consumers.add(consumer);
      return {
        async close() {
          await consumer.close();
          consumers.delete(consumer);
        },
      };
    },

    async close(): Promise<void> {
      await Promise.all([...consumers].map((consumer) => consumer.close()));
    },
  };
}

/** The start position of an unused group. */
function startOf(info: GroupInfo | undefined): Position {
  const startFrom = info?.settings.startFrom;
  return startFrom === undefined || typeof startFrom === 'string' ? LOG_START : positionOf(startFrom);
}
