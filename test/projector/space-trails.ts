import { projection } from '../../projections/projection.ts';
import { SYSTEM } from '../../src/domain/account.ts';
import type { DomainEvent, EventMetadata, Recorded, SpaceEvent } from '../../src/domain/events.ts';
import { cents, communityId, spaceId, timestamp } from '../../src/domain/ids.ts';
import { knownEvent } from '../../src/domain/known-event.ts';
import type { EventStore, JsonObject } from '../../src/event-store/event-store.ts';

export const SPACE_EVENTS = ['SpaceAdded', 'SpaceChanged', 'SpaceClosed', 'SpaceOpened'] as const;
type Handled = Extract<SpaceEvent, { readonly type: (typeof SPACE_EVENTS)[number] }>;

/** The events of a space since it was last opened, in order, so that a lost, duplicated or misplaced event shows. */
export type Trail = { readonly spaceId: number; readonly trail: readonly string[] };

/** Closing a space removes its document; opening it creates a new one. `version` and `mark` distinguish builds. */
export const trails = (version = 1, mark = '') =>
  projection<Trail, Handled>({
    name: 'trails',
    version,
    indexes: [{ fields: ['spaceId'] }],
    key: (event) => String(event.data.spaceId),
    createdBy: ['SpaceClosed'],
    on: {
      SpaceAdded: (document, event) => step(document, event, mark),
      SpaceChanged: (document, event) => document && step(document, event, mark),
      SpaceClosed: () => undefined,
      SpaceOpened: (document, event) => step(document, event, mark),
    },
  });

function step(document: Trail | undefined, { data, stream, revision }: Recorded<Handled>, mark: string): Trail {
  return { spaceId: data.spaceId, trail: [...(document?.trail ?? []), `${mark}${stream}/${revision}`].slice(-20) };
}

export type Count = { readonly communityId: number; readonly events: number };

/** Folds many events into one document. */
export const counts = projection<Count, Handled>({
  name: 'counts',
  version: 1,
  indexes: [],
  key: (event) => String(event.data.communityId),
  on: {
    SpaceAdded: (document, event) => count(document, event),
    SpaceChanged: (document, event) => count(document, event),
    SpaceClosed: (document, event) => count(document, event),
    SpaceOpened: (document, event) => count(document, event),
  },
});

const count = (document: Count | undefined, { data }: Recorded<Handled>): Count => ({
  communityId: data.communityId,
  events: (document?.events ?? 0) + 1,
});

const metadata: EventMetadata = {
  at: timestamp('2026-12-01T11:00:00.000Z'),
  actor: SYSTEM,
  correlationId: 'c',
  schema: 1,
};

function spaceEvent(space: number, type: (typeof SPACE_EVENTS)[number]): DomainEvent {
  const ids = { spaceId: spaceId(space), communityId: communityId(space % 3) };
  if (type !== 'SpaceAdded') return { type, data: ids };
  const terms = { windowStart: 9, windowEnd: 22, durationHours: 4, eventFee: cents(100), answerHours: 72 };
  return { type, data: { ...ids, ...terms, name: `Space ${space}`, timeZone: 'UTC' } };
}

/** The number of events that this process has appended to the stream of each space. */
const appended = new WeakMap<EventStore, Map<string, number>>();

/** Appends an event to the stream of its space and returns its position. Concurrent appends keep their order. */
export async function appendEvent(
  events: EventStore,
  space: number,
  type: (typeof SPACE_EVENTS)[number],
): Promise<string> {
  const { data } = spaceEvent(space, type);
  const stream = `space-${space}`;
  const counts = appended.get(events) ?? new Map<string, number>();
  appended.set(events, counts);
  const count = counts.get(stream) ?? 0;
  counts.set(stream, count + 1);
  const { position } = await events.append(stream, [{ type, data: json(data), metadata: json(metadata) }], {
    expectedRevision: count === 0 ? 'none' : count - 1,
  });
  return position;
}

/** Appends many events to `spaces` spaces, some of them closures. Returns the position of the last one. */
export async function appendEvents(events: EventStore, count: number, spaces: number): Promise<string> {
  let last = '';
  for (let i = 0; i < count; i += 20) {
    const positions = await Promise.all(
      Array.from({ length: Math.min(20, count - i) }, (_, j) =>
        appendEvent(events, ((i + j) * 7) % spaces, SPACE_EVENTS[((i + j) % 7) % 4] ?? 'SpaceAdded'),
      ),
    );
    for (const position of positions) if (position > last) last = position;
  }
  return last;
}

const json = (value: object): JsonObject => JSON.parse(JSON.stringify(value));

type Fold<D extends object> = {
  readonly types: readonly string[];
  key(event: Recorded): string;
  evolve(document: D | undefined, event: Recorded): D | undefined;
};

/** The expected documents, folded in memory. */
export function inMemory<D extends object>(
  events: readonly Recorded[],
  { types, key, evolve }: Fold<D>,
): Map<string, D> {
  const documents = new Map<string, D>();
  for (const event of events) {
    if (!types.includes(event.type)) continue;
    const document = evolve(documents.get(key(event)), event);
    if (document === undefined) documents.delete(key(event));
    else documents.set(key(event), document);
  }
  return documents;
}

export const expected = async <D extends object>(events: EventStore, projection: Fold<D>): Promise<Map<string, D>> =>
  inMemory((await Array.fromAsync(events.readAll())).map(knownEvent), projection);

/** A log of these events, without an engine. */
export function recorded(
  events: readonly { readonly space: number; readonly type: (typeof SPACE_EVENTS)[number] }[],
): Recorded[] {
  const revisions = new Map<number, number>();
  return events.map(({ space, type }, i) => {
    const revision = (revisions.get(space) ?? -1) + 1;
    revisions.set(space, revision);
    const id = `event-${i}`;
    return {
      ...spaceEvent(space, type),
      id,
      stream: `space-${space}`,
      revision,
      position: String(i).padStart(6, '0'),
      metadata,
    };
  });
}
