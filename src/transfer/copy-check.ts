import { LATER_STREAM_KINDS, STREAM_KINDS } from '../domain/streams.ts';
import { checkEvents } from '../event-store/check-event.ts';
import type { EventToLoad } from '../event-store/event-store.ts';
import { TextCounts } from '../sqlite/text-counts.ts';

/** In characters. */
const LONGEST_NAME = 1_000;
/** More than any release has. */
const MOST_COLLECTIONS = 1_000;

/** What both engines of the documents keep for themselves, and what marks a store that is being filled. */
const RESERVED = /^(sqlite_.*|system\..*|declaredCollections|readModelCheckpoints|storeIdentity)$/i;

/** Whether a copy may hold a collection of records of this name. */
const isCollectionName = (text: string): boolean => /^[A-Za-z][\w@.-]{0,199}$/.test(text) && !RESERVED.test(text);

/**
 * Checks the contents of a copy before any of them are written, because a failure half-way would leave a partly filled store. Call it for each
 * event and record, in the order of the copy. The problems are phrases that quote nothing but checked names.
 */
export class CopyCheck {
  readonly #seen = new TextCounts();
  /** The names of the collections by their lower case: SQLite does not distinguish them. */
  readonly #collections = new Map<string, string>();
  /** The first stream of a kind that this service does not have. EventStoreDB may hold such streams of others, so it does not read them. */
  foreignStream: string | undefined;

  /** @returns the problem of an event, if it has one */
  event({ id, stream, revision, type, data, metadata }: EventToLoad): string | undefined {
    if (!isStorable({ id, type, data, metadata })) return 'an event that no engine can store unchanged';
    if (!isEventName(stream) || !isEventName(type)) return `a stream or type that event ${id} cannot have`;
    if (this.#seen.add('event', id) > 0) return `the event ${id} twice`;
    const expected = this.#seen.add('stream', stream);
    if (revision !== expected) return `revision ${revision} of ${stream} instead of ${expected}`;
    const [kind = ''] = stream.split('-', 1);
    if (!STREAM_KINDS.includes(kind) && !LATER_STREAM_KINDS.test(kind)) this.foreignStream ??= stream;
    return undefined;
  }

  /** Whether the copy holds an event that something in it refers to. */
  hasEvent(id: string): boolean {
    return this.#seen.has('event', id);
  }

  /** @returns the problem of a record, if it has one */
  record(collection: string, key: string): string | undefined {
    if (!isCollectionName(collection)) return 'a collection of records that cannot exist';
    const earlier = this.#collections.get(collection.toLowerCase());
    if (earlier !== undefined && earlier !== collection) return `the collections ${earlier} and ${collection}`;
    this.#collections.set(collection.toLowerCase(), collection);
    if (this.#collections.size > MOST_COLLECTIONS) return `more than ${MOST_COLLECTIONS} collections`;
    if (!key.isWellFormed()) return `a key in ${collection} that is not Unicode`;
    if (this.#seen.add(`record of ${collection}`, key) > 0) return `a record of ${collection} twice`;
    return undefined;
  }

  close(): void {
    this.#seen.close();
  }
}

function isStorable(event: Pick<EventToLoad, 'id' | 'type' | 'data' | 'metadata'>): boolean {
  try {
    checkEvents([event]);
    // Engines store it in lower case.
    return event.id === event.id.toLowerCase();
  } catch (error) {
    // A RangeError is the stack, which deep nesting overflows.
    if (error instanceof TypeError || error instanceof RangeError) return false;
    throw error;
  }
}

/** Names that begin with `$` belong to EventStoreDB. */
const isEventName = (text: string): boolean =>
  text !== '' && text.length <= LONGEST_NAME && text.isWellFormed() && !/^\$|\p{Cc}/u.test(text);
