import type { PortableEvent } from '../audit/portable-event.ts';
import type { EventStore, OperatedEventStore, Position } from '../event-store/event-store.ts';
import { eventsIn } from './read-export.ts';
import { UnusableCopy } from './unusable-copy.ts';

/** Events per batch. */
const BATCH = 500;

export type FillLog = {
  readonly events: Pick<OperatedEventStore, 'readAll' | 'load'>;
  /** In log order. */
  readonly source: AsyncIterable<PortableEvent>;
  readonly total: number;
  /** The name of the log in messages. */
  readonly log: string;
  /** Called for every event with its position in the log. */
  readonly stored: (event: PortableEvent, position: Position) => void;
  readonly onProgress: (progress: { readonly done: number; readonly total: number }) => void;
};

/**
 * Fills an empty log with the events of a copy, or continues a log that holds the first of them.
 * @throws {UnusableCopy} if the log holds anything else
 */
export async function fillLog(deps: FillLog): Promise<void> {
  const { events, source, total, log, stored, onProgress } = deps;
  let done = 0;
  let batch: PortableEvent[] = [];
  const existing = events.readAll()[Symbol.asyncIterator]();
  let hasPassedExisting = false;

  const flush = async () => {
    const positions = await events.load(batch);
    for (const [index, event] of batch.entries()) stored(event, positions[index] ?? '');
    done += batch.length;
    batch = [];
    onProgress({ done, total });
  };

  for await (const event of source) {
    const next = hasPassedExisting ? undefined : await existing.next();
    if (next === undefined || next.done === true) {
      hasPassedExisting = true;
      batch.push(event);
      if (batch.length >= BATCH) await flush();
      continue;
    }
    if (!isSame(next.value, event)) throw new UnusableCopy(`The event log in ${log} changed meanwhile`);
    stored(event, next.value.position);
    done += 1;
  }
  if (batch.length > 0) await flush();
}

/**
 * Checks that a log can be filled from an export: it is empty, or holds the first events of the export. Stores nothing.
 * @throws {UnusableCopy} if the log holds anything else
 */
export async function checkFillable(deps: {
  readonly events: Pick<EventStore, 'readAll'>;
  readonly file: string;
  readonly locations: { readonly log: string };
  /** Advice for when the log holds anything else: a sentence without a full stop. */
  readonly otherwise: string;
}): Promise<void> {
  const { events, file, locations, otherwise } = deps;
  const source = eventsIn(file);
  for await (const next of events.readAll()) {
    const { value } = await source.next();
    if (value === undefined || !isSame(next, value))
      throw new UnusableCopy(`The event log in ${locations.log} holds other events than ${file}. ${otherwise}`);
  }
  await source.return(undefined);
}

const isSame = (one: PortableEvent, other: PortableEvent): boolean =>
  one.id === other.id && one.stream === other.stream && one.revision === other.revision;
