import type { DomainEvent, EventType, Recorded } from '../src/domain/events.ts';

/** A read model as the projector runs it: a pure fold of the log into documents, one per key. */
export type Projection<D extends object> = {
  readonly name: string;
  /** Raised whenever the content or the key of the documents changes; the projector then builds them beside the old ones. */
  readonly version: number;
  /** Every query of this read model must be answered by one of these. Reads by key need none. */
  readonly indexes: readonly {
    readonly fields: readonly (keyof D & string)[];
    /** Fields that it holds besides, after those that it sorts by, so that it alone skips what they exclude. */
    readonly holds?: readonly (keyof D & string)[];
    /** Only documents with these values are in it. */
    readonly where?: { readonly [F in keyof D & string]?: string };
  }[];
  /** The event types it handles. */
  readonly types: readonly EventType[];
  /** Those after which the document does not depend on the one before, so the projector does not read it for them. */
  readonly createdBy: readonly EventType[];
  /** Key of the document an event belongs to, from the event alone. Called only for events of `types`. */
  key(event: Recorded): string;
  /** The document after the event; `undefined` removes it. Events of other types change nothing. */
  evolve(document: D | undefined, event: Recorded): D | undefined;
};

/** Any read model, for code that does not look inside the documents. */
export type AnyProjection = Pick<Projection<object>, 'name' | 'version' | 'types' | 'createdBy' | 'key'> & {
  readonly indexes: readonly {
    readonly fields: readonly string[];
    readonly holds?: readonly string[];
    readonly where?: { readonly [field: string]: string | undefined };
  }[];
  evolve(document: Row | undefined, event: Recorded): Row | undefined;
};
export type Row = { readonly [field: string]: unknown };

/** What a read model declares. `on` handles each event of `E`; `key` gets only those. */
type Definition<D extends object, E extends DomainEvent> = Pick<Projection<D>, 'name' | 'version' | 'indexes'> & {
  readonly key: (event: Recorded<E>) => string;
  /** Default: none. */
  readonly createdBy?: readonly E['type'][];
  readonly on: {
    readonly [T in E['type']]: (
      document: D | undefined,
      event: Recorded<Extract<E, { readonly type: T }>>,
    ) => D | undefined;
  };
};

type Handler<D extends object> = (document: D | undefined, event: Recorded) => D | undefined;
type AnyDefinition<D extends object> = Pick<Projection<D>, 'name' | 'version' | 'indexes'> & {
  readonly key: (event: Recorded) => string;
  readonly createdBy?: readonly EventType[];
  readonly on: { readonly [T in EventType]?: Handler<D> };
};

/**
 * Declares a read model: documents `D`, folded from the events `E`.
 * @example
 * export const availability = projection<AvailabilityDocument, BookingRequested | BookingCancelled>({
 *   name: 'availability', version: 1, indexes: [],
 *   key: (event) => `${event.data.spaceId}:${event.data.date}`,
 *   on: { BookingRequested: (document, event) => …, BookingCancelled: (document, event) => … },
 * });
 */
export function projection<D extends object, E extends DomainEvent>(definition: Definition<D, E>): Projection<D>;
export function projection<D extends object>(definition: AnyDefinition<D>): Projection<D> {
  const { name, version, indexes, key, on, createdBy = [] } = definition;
  const types = (Object.keys(on) as EventType[]).filter((type) => on[type] !== undefined);
  return {
    name,
    version,
    indexes,
    types,
    createdBy,
    key,
    evolve(document, event) {
      const handler = on[event.type];
      return handler === undefined ? document : handler(document, event);
    },
  };
}
