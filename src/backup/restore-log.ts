import type { EventStore, Position, StoredEvent } from '../event-store/event-store.ts';
import { readLines } from './files.ts';
import type { LogFile } from './manifest.ts';
import { UnusableBackup } from './unusable-backup.ts';

/** Events stored at once. */
const BATCH = 500;

export type RestoreLog = {
  readonly events: Pick<EventStore, 'readAll' | 'load'>;
  readonly folder: string;
  readonly files: readonly LogFile[];
  /** How messages name the log. */
  readonly place: string;
  /** Called for every event with its position in the backup and in the log. */
  readonly stored: (from: Position, to: Position) => void;
  readonly onProgress: (progress: { readonly done: number; readonly total: number }) => void;
};

/**
 * Fills an empty log with the events of a backup, or goes on with a log that holds the first of them.
 * @throws {UnusableBackup} if the log holds anything else
 */
export async function restoreLog({ events, folder, files, place, stored, onProgress }: RestoreLog): Promise<void> {
  const total = files.reduce((sum, { lines }) => sum + lines, 0);
  let done = 0;
  let batch: StoredEvent[] = [];
  const there = events.readAll()[Symbol.asyncIterator]();
  let isEmpty = false;

  const flush = async () => {
    const positions = await events.load(batch);
    for (const [index, position] of positions.entries()) stored(batch[index]?.position ?? '', position);
    done += batch.length;
    batch = [];
    onProgress({ done, total });
  };

  for await (const event of eventsOf(folder, files)) {
    const found = isEmpty ? undefined : await there.next();
    if (found === undefined || found.done === true) {
      isEmpty = true;
      batch.push(event);
      if (batch.length >= BATCH) await flush();
      continue;
    }
    if (!isSame(found.value, event)) throw new UnusableBackup(`The event log in ${place} changed meanwhile`);
    stored(event.position, found.value.position);
    done += 1;
  }
  if (batch.length > 0) await flush();
}

/** The events of a backup, in log order. */
export async function* eventsOf(folder: string, files: readonly LogFile[]): AsyncGenerator<StoredEvent> {
  // What was verified before is what `backUp` wrote.
  for (const file of files) yield* readLines(folder, file) as AsyncGenerator<StoredEvent>;
}

/**
 * Whether a log can be filled from a backup: it is empty, or a restore of the same backup was interrupted. Stores nothing.
 * @throws {UnusableBackup} if the log holds anything else
 */
export async function checkFillable(
  deps: Pick<RestoreLog, 'events' | 'folder' | 'files' | 'place'> & {
    /** What to do if it does: a sentence. */
    readonly otherwise: string;
  },
): Promise<void> {
  const source = eventsOf(deps.folder, deps.files);
  for await (const found of deps.events.readAll()) {
    const { value } = await source.next();
    if (value === undefined || !isSame(found, value))
      throw new UnusableBackup(`The event log in ${deps.place} holds other events than the backup. ${deps.otherwise}`);
  }
  await source.return(undefined);
}

const isSame = (one: StoredEvent, other: StoredEvent): boolean =>
  one.id === other.id && one.stream === other.stream && one.revision === other.revision;
