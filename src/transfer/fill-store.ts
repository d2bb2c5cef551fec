import { createHash } from 'node:crypto';
import type { Fork } from '../audit/fork.ts';
import { canonicalForm, portableEvent } from '../audit/portable-event.ts';
import { indexAllMembers } from '../auth/account-members.ts';
import type { DocumentStore, OperatedDocumentStore } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import { type EventStore, LOG_START, type OperatedEventStore, type Position } from '../event-store/event-store.ts';
import { destroyForgottenKeys } from '../personal-data/forgotten.ts';
import type { Clock } from '../runtime/clock.ts';
import { writeMemory } from '../store-identity/adopt.ts';
import { STORE_FORMAT } from '../store-identity/store-format.ts';
import { memoryOfRecords, seenOf } from '../store-identity/store-memory.ts';
import { checkFillable, type FillLog, fillLog } from './fill-log.ts';
import { beginFilling, openFilling } from './fill-records.ts';
import { type FinishDeps, finish } from './finish.ts';
import type { Header, Purpose } from './format.ts';
import { eventsIn, linesOf, type WholeExport } from './read-export.ts';
import { ttlOf, withPositions } from './record-kinds.ts';
import { UnusableCopy } from './unusable-copy.ts';

export type FillStore = {
  readonly events: OperatedEventStore;
  readonly documents: OperatedDocumentStore;
  readonly clock: Clock;
  readonly file: string;
  /** The verified content of the file. */
  readonly whole: FullExport;
  /** The names of the parts of the store in messages. */
  readonly locations: { readonly log: string; readonly records: string };
  /** Runs work and shows its progress. Called for filling the log, which takes longest. */
  readonly withProgress: (work: (show: FillLog['onProgress']) => Promise<void>) => Promise<void>;
  /** Called with the next step, without a full stop. */
  readonly onStep: (what: string) => void;
  /** Advice for when the store holds anything else: a sentence without a full stop. */
  readonly otherwise: string;
  /** Called once the store is marked as being filled. */
  readonly begun?: () => void;
};

/** An export of a whole store, with its records. */
export type FullExport = WholeExport & { readonly header: Header & { readonly probe: string } };

/**
 * Checks that an export is one of a whole store, made for this purpose.
 * @throws {UnusableCopy} if it is not
 */
export function checkPurpose(file: string, whole: WholeExport, wanted: Purpose): FullExport {
  const { stream, from, to, probe, purpose } = whole.header;
  const otherwise =
    wanted === 'move' ? 'Export the whole store: venue export --with-records' : 'See: venue backup --help';
  if (stream !== undefined || from !== undefined || to !== undefined)
    throw new UnusableCopy(`${file} holds only some of the events. ${otherwise}`);
  if (probe === undefined || purpose === undefined) throw new UnusableCopy(`${file} holds no records. ${otherwise}`);
  if (purpose === wanted) return { ...whole, header: { ...whole.header, probe } };
  throw new UnusableCopy(
    wanted === 'keep'
      ? `${file} was made to move a store, which goes on where it is imported: venue import ${file}`
      : `${file} is a backup: venue restore ${file}`,
  );
}

/**
 * Fills an empty store on any engines, or continues an interrupted import of the same export. No process starts on the store until it is
 * complete. Does nothing if it is.
 * @throws {UnusableCopy} if the store holds anything else
 */
export async function importStore(deps: FillStore): Promise<void> {
  const { events, documents, whole } = deps;
  const { header, trailer } = whole;
  const { logId, probe } = header;
  if (await isImported(documents, trailer.sha256)) return;
  await fillStore({ ...deps, kind: 'import' });
  await destroyForgottenKeys(deps);
  await indexAllMembers(documents);

  for (const { name, kind } of await documents.collections()) if (kind === 'readModel') await documents.drop(name);
  const last = await events.lastEvent();
  await writeMemory(documents, {
    format: STORE_FORMAT,
    logId,
    probe,
    imported: trailer.sha256,
    ...defined({ seen: last && seenOf(last) }),
  });
}

/**
 * Restores a backup into an empty store on any engines, or continues an interrupted restore. No process starts on the store until it is
 * complete.
 * @returns the fork, if the log has another origin now
 * @throws {UnusableCopy} if the store holds anything else
 */
export async function restoreStore(deps: FillStore & FinishDeps): Promise<Fork | undefined> {
  await fillStore({ ...deps, kind: 'restore' });
  return finish(deps);
}

/** Stores the events and records of an export. */
async function fillStore(deps: FillStore & { readonly kind: 'import' | 'restore' }): Promise<void> {
  const { events, documents, file, whole, locations, withProgress, onStep, otherwise, kind, begun } = deps;
  const { header, trailer, referredTo } = whole;
  const { logId, probe } = header;
  await checkFillable(deps);
  const refusal = `There are records in ${locations.records} already. ${otherwise}`;
  await beginFilling(documents, { logId, probe, standstill: { kind, copy: trailer.sha256 } }, refusal);
  begun?.();

  const positions = new Map<string, Position>();
  await withProgress((onProgress) =>
    fillLog({
      events,
      source: eventsIn(file),
      total: trailer.events,
      log: locations.log,
      onProgress,
      stored(event, position) {
        if (referredTo.has(event.id)) positions.set(event.id, position);
      },
    }),
  );
  onStep('Reading the log back');
  await compareLog(events, whole, locations.log);
  const positionOf = (id: string): Position => {
    const position = id === '' ? LOG_START : positions.get(id);
    if (position === undefined) throw new UnusableCopy(`${file} names the event ${id}, but does not contain it`);
    return position;
  };
  onStep(`Storing ${trailer.records.toLocaleString('en')} records`);
  await fillRecords(documents, file, positionOf);
}

/** Whether an import of an export has been completed. */
async function isImported(documents: Pick<DocumentStore, 'open'>, sha256: string): Promise<boolean> {
  const memory = await memoryOfRecords(documents);
  return memory?.imported === sha256 && memory.standstill === undefined;
}

/** Reads the log back. @throws {UnusableCopy} if its events differ from the export */
async function compareLog(
  events: Pick<EventStore, 'readAll'>,
  { trailer, eventsSha256 }: WholeExport,
  log: string,
): Promise<void> {
  const hash = createHash('sha256');
  let count = 0;
  for await (const event of events.readAll()) {
    count += 1;
    hash.update(canonicalForm(portableEvent(event))).update('\n');
  }
  if (count !== trailer.events || hash.digest('hex') !== eventsSha256)
    throw new UnusableCopy(
      `The ${count} events in ${log} are not the ${trailer.events} of the file: the log was changed, or another program writes there`,
    );
}

async function fillRecords(
  documents: OperatedDocumentStore,
  file: string,
  positionOf: (id: string) => Position,
): Promise<void> {
  let filling: { readonly name: string; readonly to: Awaited<ReturnType<typeof openFilling>> } | undefined;
  for await (const { line } of linesOf(file)) {
    if (!('record' in line)) continue;
    const { collection: name, key, document } = line.record;
    if (filling?.name !== name) {
      await filling?.to.end();
      filling = { name, to: await openFilling(documents, { name, ttl: ttlOf(name) }) };
    }
    await filling.to.add(key, withPositions(name, document, positionOf));
  }
  await filling?.to.end();
}
