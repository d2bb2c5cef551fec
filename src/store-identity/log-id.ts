import { randomUUID } from 'node:crypto';
import { SYSTEM } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { type LogCreated, SCHEMA } from '../domain/events.ts';
import { knownEvent } from '../domain/known-event.ts';
import { streamOf } from '../domain/streams.ts';
import { type EventStore, WrongExpectedRevision } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';
import { checkFormat, STORE_FORMAT } from './store-format.ts';

type Log = Pick<EventStore, 'readAll' | 'readStream'>;

/**
 * The id of the log, from its first event.
 * @returns undefined for an empty log
 * @throws {UnusableStore} if the log is in another format than this release reads
 */
export async function readLogId(events: Log): Promise<string | undefined> {
  const created = await logCreated(events);
  if (created !== undefined) {
    checkFormat('The event log', created.format);
    return created.logId;
  }
  for await (const _ of events.readAll({ limit: 1 })) {
    // Another process may have created the log between the two reads.
    checkFormat('The event log', (await logCreated(events))?.format);
    return readLogId(events);
  }
  return undefined;
}

async function logCreated(events: Log): Promise<LogCreated['data'] | undefined> {
  for await (const stored of events.readStream(streamOf.log, { limit: 1 })) return knownEvent<LogCreated>(stored).data;
  return undefined;
}

/** The id of the log, created if missing. Of concurrent processes, the first one wins. */
export async function ensureLogId(events: Log & Pick<EventStore, 'append'>, clock: Clock): Promise<string> {
  const id = await readLogId(events);
  if (id !== undefined) return id;
  const created: LogCreated = { type: 'LogCreated', data: { logId: randomUUID(), format: STORE_FORMAT } };
  const metadata = { at: toTimestamp(clock()), actor: SYSTEM, correlationId: 'log', schema: SCHEMA };
  try {
    await events.append(streamOf.log, [{ ...created, metadata }], { expectedRevision: 'none' });
    return created.data.logId;
  } catch (error) {
    const other = error instanceof WrongExpectedRevision ? await readLogId(events) : undefined;
    if (other === undefined) throw error;
    return other;
  }
}
