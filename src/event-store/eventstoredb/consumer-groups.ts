import {
  eventTypeFilter,
  PersistentSubscriptionDoesNotExistError,
  PersistentSubscriptionExistsError,
  persistentSubscriptionToAllSettingsFromDefaults,
  START,
} from '@eventstore/db-client';
import type { Consume, Consumer, HandleEvent } from '../event-store.ts';
import type { Connection } from './connection.ts';
import { startConsumer } from './consumer.ts';
import type { NodeClient } from './node-client.ts';
import { managing } from './rights.ts';
import { serverPosition } from './stored-event.ts';

/**
 * The server parks an event after this many retries. High enough never to happen, because the count also grows when a consumer
 * leaves the group, which is not the event's fault.
 */
const MAX_RETRIES = 1_000_000_000;
/** What a release may change. */
const UPDATED = ['messageTimeout', 'maxRetryCount', 'checkPointAfter', 'checkPointLowerBound'] as const;

type GroupSettings = ReturnType<typeof persistentSubscriptionToAllSettingsFromDefaults>;
type GroupInfo = Awaited<ReturnType<NodeClient['getPersistentSubscriptionToAllInfo']>>;

/** Persistent subscriptions to `$all`, filtered by the server. */
export function createConsumerGroups(connection: Connection, messageTimeoutMs: number) {
  const { names, deadlineMs: deadline } = connection;
  const consumers = new Set<Consumer>();

  /** Creates the group after `after`, or gives an existing one the settings of this release. It keeps its checkpoint. */
  async function create(name: string, { types, after }: Consume): Promise<void> {
    const group = names.onServer(name);
    const from = serverPosition(after());
    const settings = persistentSubscriptionToAllSettingsFromDefaults({
      // The default is the end of the log: what happened before the group was created would wait for a read from the mark.
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
    } catch (error) {
      if (!(error instanceof PersistentSubscriptionExistsError)) throw error;
      const existing = (await info(name))?.settings;
      if (existing !== undefined && !UPDATED.every((setting) => existing[setting] === settings[setting]))
        await update(group, settings);
    }
  }

  /** Ends the memberships of all consumers, which join again. */
  async function update(group: string, settings: GroupSettings): Promise<void> {
    await connection.retryWhileStarting(`Updating consumer group ${group}`, () =>
      connection.call(managing('an update', group), (client) =>
        client.updatePersistentSubscriptionToAll(group, settings, { deadline }),
      ),
    );
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

  return {
    /** The server answers for a group that does not exist, too. */
    async checkRights(): Promise<void> {
      await info('any');
    },

    async consume(name: string, options: Consume, handler: HandleEvent): Promise<Consumer> {
      const begin = () => create(name, options);
      await begin();
      const consumer = startConsumer({ connection, group: names.onServer(name), options, handler, begin });
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
