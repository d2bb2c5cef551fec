import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { type EventStore, LOG_START, logEnd, type Position } from '../event-store/event-store.ts';

/** Kinds of events, and up to where each event of the kind has its records. */
export type Marks = { readonly [kind: string]: Position };

/** A role that makes records of events. */
export type OutboxRole = 'webhooks' | 'mail';

type MarksDocument = { readonly handledTo: Marks };

/** One document per role. An export copies it before the records that it speaks of (src/transfer/export-store.ts). */
export const MARKS: Collection<MarksDocument> = { name: 'outboxMarks', kind: 'record', indexes: [] };

type OpensRecords = Pick<DocumentStore, 'open'>;

/** The marks of a role; those of kinds that it has never followed are absent. */
export async function readMarks(documents: OpensRecords, role: OutboxRole): Promise<Marks> {
  return (await (await documents.open(MARKS)).get(role))?.document.handledTo ?? {};
}

/** Moves marks forward. Call it once every event up to there has its records. */
export async function advanceMarks(documents: OpensRecords, role: OutboxRole, marks: Marks): Promise<Marks> {
  return changeMarks(documents, role, (stored) => {
    const isBehind = ([kind, position]: [string, Position]) => position > (stored[kind] ?? LOG_START);
    return Object.fromEntries(Object.entries(marks).filter(isBehind));
  });
}

/** Adds the marks that are missing. Does not move the others. */
export async function addMarks(documents: OpensRecords, role: OutboxRole, marks: Marks): Promise<Marks> {
  return changeMarks(documents, role, (stored) =>
    Object.fromEntries(Object.entries(marks).filter(([kind]) => stored[kind] === undefined)),
  );
}

/** Moves every mark that is beyond the end of the log back to it. Records of events that a restored log lacks stay. */
export async function lowerMarks(documents: OpensRecords, end: Position): Promise<void> {
  for (const { role, marks } of await allMarks(documents))
    await changeMarks(documents, role, () => {
      const beyond = Object.keys(marks).filter((kind) => (marks[kind] ?? LOG_START) > end);
      return Object.fromEntries(beyond.map((kind) => [kind, end]));
    });
}

/** Makes the marks of another log, or of none, those of this one: fan-out goes on at its end. */
export async function replaceMarks(documents: OpensRecords, role: OutboxRole, marks: Marks): Promise<void> {
  await (await documents.open(MARKS)).update(role, () => ({ handledTo: marks }));
}

/** The mark that is furthest ahead; `LOG_START` if there is none. */
export async function highestMark(documents: OpensRecords): Promise<Position> {
  const positions = (await allMarks(documents)).flatMap(({ marks }) => Object.values(marks));
  return positions.toSorted().at(-1) ?? LOG_START;
}

/** Which event a new mark begins behind: the first that the log ever had, or the last that it has. */
export type Beginning = 'start' | 'end';

/**
 * Adds the marks of kinds that have none. A process does this before it answers requests, so that a kind has its mark before its first
 * registration. A kind that a new release adds begins where the others stand, with `start`.
 * @param deps.beforeFirst called before a role gets its first marks
 */
export async function prepareMarks(deps: {
  readonly events: Pick<EventStore, 'lastEvent'>;
  readonly documents: OpensRecords;
  readonly role: OutboxRole;
  readonly kinds: readonly string[];
  readonly beginning: Beginning;
  readonly beforeFirst?: () => Promise<void>;
}): Promise<void> {
  const { events, documents, role, kinds, beginning } = deps;
  const marks = await readMarks(documents, role);
  if (Object.keys(marks).length === 0) await deps.beforeFirst?.();
  const missing = kinds.filter((kind) => marks[kind] === undefined);
  if (missing.length === 0) return;
  const from = beginning === 'end' ? await logEnd(events) : (Object.values(marks).toSorted()[0] ?? LOG_START);
  await addMarks(documents, role, Object.fromEntries(missing.map((kind) => [kind, from])));
}

const ROLES: readonly OutboxRole[] = ['webhooks', 'mail'];

const allMarks = (documents: OpensRecords) =>
  Promise.all(ROLES.map(async (role) => ({ role, marks: await readMarks(documents, role) })));

/** @returns the marks as stored now */
async function changeMarks(
  documents: OpensRecords,
  role: OutboxRole,
  changed: (stored: Marks) => Marks,
): Promise<Marks> {
  const collection = await documents.open(MARKS);
  const { stored } = await collection.update(role, (document) => {
    const handledTo = document?.handledTo ?? {};
    const change = changed(handledTo);
    return Object.keys(change).length === 0 ? undefined : { handledTo: { ...handledTo, ...change } };
  });
  return stored?.document.handledTo ?? {};
}
