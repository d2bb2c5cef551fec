import { randomUUID } from 'node:crypto';
import { SYSTEM } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { type LogCreated, schemaOf } from '../domain/events.ts';
import { streamOf } from '../domain/streams.ts';
import { upcast } from '../domain/upcast.ts';
import { type EventStore, WrongExpectedRevision } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';

/** The id of the log: the first event of a stream of its own. @returns undefined for a log of an earlier release, or a new one */
export async function readLogId(events: Pick<EventStore, 'readStream'>): Promise<string | undefined> {
  for await (const stored of events.readStream(streamOf.log, { limit: 1 }))
    return upcast<LogCreated>(stored).data.logId;
  return undefined;
}

/** The id of the log, which gets one if it has none. Of processes that do so at the same time, the first one decides. */
export async function ensureLogId(events: Pick<EventStore, 'append' | 'readStream'>, clock: Clock): Promise<string> {
  const found = await readLogId(events);
  if (found !== undefined) return found;
  const created: LogCreated = { type: 'LogCreated', data: { logId: randomUUID() } };
  const metadata = { at: toTimestamp(clock()), actor: SYSTEM, correlationId: 'log', schema: schemaOf(created) };
  try {
    await events.append(streamOf.log, [{ ...created, metadata }], { expectedRevision: 'none' });
    return created.data.logId;
  } catch (error) {
    const other = error instanceof WrongExpectedRevision ? await readLogId(events) : undefined;
    if (other === undefined) throw error;
    return other;
  }
}
