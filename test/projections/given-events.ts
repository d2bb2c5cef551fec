import { expect } from 'vitest';
import type { Projection } from '../../projections/projection.ts';
import type { DomainEvent, EventMetadata, Recorded } from '../../src/domain/events.ts';
import { timestamp } from '../../src/domain/ids.ts';

const metadata: EventMetadata = {
  at: timestamp('2026-12-01T12:00:00.000Z'),
  actor: { kind: 'system', id: 'test' },
  correlationId: 'c',
  schema: 1,
};

/** An event as stored in the log. */
export const recorded = <E extends DomainEvent>(event: E, position: number, at?: string): Recorded<E> => ({
  ...event,
  id: `event-${position}`,
  stream: 'stream',
  revision: position,
  position: String(position).padStart(4, '0'),
  metadata: at === undefined ? metadata : { ...metadata, at: timestamp(at) },
});

/** Folds the given events as the projector does, without loading a document that an event creates. Returns them by key. */
export function folded<D extends object>(projection: Projection<D>, ...events: readonly DomainEvent[]) {
  const documents = new Map<string, D>();
  for (const [index, event] of events.entries()) {
    if (!projection.types.includes(event.type)) continue;
    const fact = recorded(event, index + 1);
    const key = projection.key(fact);
    const document = projection.evolve(documents.get(key), fact);
    if (projection.createdBy.includes(event.type)) expect(document).toEqual(projection.evolve(undefined, fact));
    if (document === undefined) documents.delete(key);
    else documents.set(key, document);
  }
  return Object.fromEntries(documents);
}
