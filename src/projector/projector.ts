import type { Logger } from 'pino';
import type { AnyProjection, Projection, Row } from '../../projections/projection.ts';
import type { DocumentStore, Documents } from '../document-store/document-store.ts';
import { upcast } from '../domain/upcast.ts';
import { type EventStore, LOG_START, type Position } from '../event-store/event-store.ts';
import type { ReadModels } from './read-models.ts';

export type Projector = {
  readonly readModels: ReadModels;
  lag(limit: number): Promise<number>;
  start(): void;
  stop(): Promise<void>;
};

/** First slice: one projector in this process, read models built from the start of the log. */
export async function openProjector(parts: {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly projections: readonly AnyProjection[];
  readonly logger: Logger;
}): Promise<Projector> {
  const collections = new Map<string, Documents<Row>>();
  for (const { name, indexes } of parts.projections)
    collections.set(name, await parts.documents.open<Row>({ name: `${name}@1`, indexes, kind: 'readModel' }));
  const checkpoints = await parts.documents.open<{ position: Position }>({
    name: 'checkpoints',
    indexes: [],
    kind: 'readModel',
  });
  let position = (await checkpoints.get('live'))?.document.position ?? LOG_START;
  const waiting = new Set<() => void>();
  const abort = new AbortController();
  let running: Promise<void> | undefined;

  const run = async () => {
    for await (const batch of parts.events.subscribe({ after: position, signal: abort.signal })) {
      for (const { name, types, key, evolve } of parts.projections) {
        const collection = collections.get(name);
        const events = batch.events.map(upcast).filter(({ type }) => types.includes(type));
        if (collection === undefined || events.length === 0) continue;
        const folded = new Map<string, { position: Position; document: Row | undefined }>();
        for (const stored of await collection.getMany([...new Set(events.map((event) => key(event)))]))
          folded.set(stored.key, { position: LOG_START, document: stored.document });
        for (const event of events)
          folded.set(key(event), {
            position: event.position,
            document: evolve(folded.get(key(event))?.document, event),
          });
        await collection.project(
          [...folded].filter(([, d]) => d.position !== LOG_START).map(([k, d]) => ({ key: k, ...d })),
        );
      }
      position = batch.position;
      const stored = await checkpoints.get('live');
      if (stored) await checkpoints.replace('live', { position }, stored.version);
      else await checkpoints.insert('live', { position });
      for (const wake of waiting) wake();
    }
  };

  return {
    readModels: {
      collection: <D extends object>({ name }: Projection<D>) => {
        const found = collections.get(name);
        if (found === undefined) throw new Error(`There is no read model ${name}`);
        return found as unknown as Documents<D>;
      },
      async waitFor(wanted, timeoutMs = 2_000) {
        if (position >= wanted) return true;
        const { promise, resolve } = Promise.withResolvers<boolean>();
        const timer = setTimeout(() => resolve(false), timeoutMs);
        const check = () => {
          if (position >= wanted) resolve(true);
        };
        waiting.add(check);
        const reached = await promise;
        clearTimeout(timer);
        waiting.delete(check);
        return reached;
      },
    },
    async lag(limit) {
      let behind = 0;
      for await (const _ of parts.events.readAll({ after: position, limit })) behind += 1;
      return behind;
    },
    start() {
      running = run();
    },
    async stop() {
      abort.abort();
      await running;
    },
  };
}
