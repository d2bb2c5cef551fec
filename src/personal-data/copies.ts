import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import { everyDocument } from '../document-store/queries.ts';
import { isKnown, knownEvent } from '../domain/known-event.ts';
import { type Subject, sealedTextsIn } from '../domain/personal-text.ts';
import { textOwnerOf } from '../domain/text-owner.ts';
import { inPages } from '../event-loop/in-pages.ts';
import type { EventStore, StoredEvent } from '../event-store/event-store.ts';
import type { PersonalData } from './personal-data.ts';

type Json = { readonly [field: string]: unknown };

/** By collection and key. */
type PersonalRecord = { readonly collection: string; readonly key: string; readonly document: Json };

/** Events and records handled at once. */
const PAGE = 200;
/** Events between two progress reports: a second or two. */
const PROGRESS_EVERY = 100_000;

/**
 * Creates copies for access requests. Searches all events and records for the subject's names, so that data added by later releases
 * is included without a list (docs/decisions/personal-data.md).
 */
export function createCopyOf(deps: {
  readonly events: Pick<EventStore, 'readAll'>;
  readonly documents: Pick<OperatedDocumentStore, 'open' | 'collections'>;
  readonly personalData: Pick<PersonalData, 'openTexts'>;
  /** Readers for collections with sealed texts. */
  readonly readers: { readonly [collection: string]: (key: string) => Promise<object | undefined> };
}) {
  const { events, documents, personalData, readers } = deps;

  async function opened(page: readonly StoredEvent[]): Promise<Json[]> {
    const texts = await personalData.openTexts(
      page.map((event) => {
        const of = isKnown(event) ? textOwnerOf(knownEvent(event)) : undefined;
        // Only a newer release can open the texts of its events.
        return of === undefined ? { texts: {}, of: '' } : { texts: sealedTextsIn(event.data), of };
      }),
    );
    return page.map(({ position: _, ...event }, index) => ({ ...event, data: { ...event.data, ...texts[index] } }));
  }

  /**
   * All data held about a subject, with texts unsealed and without secrets: the events in the order of the log, and the records without
   * read models, which follow from the events.
   * @param onProgress called from time to time with the number of events examined
   */
  return async (subject: Subject, onProgress: (examined: number) => void) => {
    const named = namesOf(subject);
    let examined = 0;
    async function* concerning(): AsyncGenerator<StoredEvent> {
      for await (const event of events.readAll()) {
        examined += 1;
        if (examined % PROGRESS_EVERY === 0) onProgress(examined);
        if (!named.in({ stream: event.stream, data: event.data, metadata: event.metadata })) continue;
        named.learn(event);
        yield event;
      }
    }
    const ownEvents: Json[] = [];
    for await (const page of inPages(concerning(), PAGE)) for (const event of await opened(page)) ownEvents.push(event);

    const records: PersonalRecord[] = [];
    for (const { name, kind } of await documents.collections()) {
      if (kind !== 'record' || INDEXES.includes(name)) continue;
      const collection = await documents.open<Json>({ name, kind, indexes: [] });
      for await (const { key, document } of collection.find(everyDocument())) {
        if (!named.in({ key, document })) continue;
        records.push({ collection: name, key, document: { ...((await readers[name]?.(key)) ?? document) } });
      }
    }
    return withoutSecrets({ events: ownEvents, records });
  };
}

/** The names of a subject: its account or id, and the ids that belong to it alone. */
function namesOf(subject: Subject) {
  const [kind = '', id = ''] = split(subject);
  const isUser = kind === 'user';
  const account = { kind: kind === 'brand' ? 'Brand' : 'Community', id: Number(id) };
  const idField = `${kind}Id`;
  const names = new Set<string>(
    isUser ? [subject, id, `member-${id}`] : [subject, `${account.kind}:${id}`, `${kind}-${id}`, `subject-${subject}`],
  );
  /** Keys may begin with a name: `brand-7:…`. */
  const isNamed = (text: string): boolean => names.has(text) || names.has(text.split(':', 1)[0] ?? '');

  function isIn(value: unknown): boolean {
    if (typeof value === 'string') return isNamed(value);
    if (typeof value !== 'object' || value === null) return false;
    if (!isUser && 'kind' in value && 'id' in value && value.kind === account.kind && value.id === account.id)
      return true;
    return Object.entries(value).some(
      ([field, each]) => (!isUser && field === idField && each === account.id) || isIn(each),
    );
  }

  return {
    in: isIn,
    /** Adds an API key of the account, because records may name only the key. */
    learn({ type, data }: StoredEvent): void {
      if (type === 'ApiKeyIssued' && !isUser && typeof data.apiKeyId === 'string') names.add(data.apiKeyId);
    },
  };
}

function split(subject: Subject): readonly [kind: string, id: string] {
  const colon = subject.indexOf(':');
  return [subject.slice(0, colon), subject.slice(colon + 1)];
}

/** Records made from others. They hold hashes of secrets, or ids of other users. */
const INDEXES: readonly string[] = ['accountMembers', 'apiKeyIndex', 'calendarFeedIndex'];

/** Fields with credentials or their hashes, which are not personal data. */
const SECRETS = /^sealed|^hash$|Hash$|^fingerprint$/;

function withoutSecrets<T>(value: T): T;
function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutSecrets(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([field, each]) => (SECRETS.test(field) ? [] : [[field, withoutSecrets(each)]])),
  );
}
