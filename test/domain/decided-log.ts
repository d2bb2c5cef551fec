import { isDeepStrictEqual } from 'node:util';
import { projections } from '../../projections/index.ts';
import type { AnyProjection, Projection, Row } from '../../projections/projection.ts';
import { SYSTEM } from '../../src/domain/account.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { type Decision, isRefusal } from '../../src/domain/decision.ts';
import { type DomainEvent, type Recorded, SCHEMA } from '../../src/domain/events.ts';

/** How the events of a stream fold into a state. */
type Fold<S, E> = { readonly initial: S; evolve(state: S, event: E): S };

/** All read models, for code that does not look inside the documents. */
export const READ_MODELS: readonly AnyProjection[] = projections as readonly Pick<AnyProjection, keyof AnyProjection>[];

/** A log in memory with the states and the documents that follow from it. What is appended to it, a decider has decided. */
export class DecidedLog {
  readonly events: Recorded[] = [];
  readonly #states = new Map<string, unknown>();
  readonly #revisions = new Map<string, number>();
  readonly #documents = new Map<string, Map<string, Row>>(READ_MODELS.map(({ name }) => [name, new Map()]));

  /** The state of a stream. */
  state<S, E extends DomainEvent>(stream: string, { initial }: Fold<S, E>): S {
    return this.#states.has(stream) ? (this.#states.get(stream) as S) : initial;
  }

  /** The documents of a read model, by key. */
  documents<D extends object>({ name }: Projection<D>): ReadonlyMap<string, D> {
    return (this.#documents.get(name) ?? new Map()) as ReadonlyMap<string, D>;
  }

  /** Decides on the state of a stream, and appends the events. */
  decide<S, E extends DomainEvent, D extends E>(
    stream: string,
    fold: Fold<S, E>,
    now: number,
    decider: (state: S) => Decision<D>,
  ): Decision<D> {
    const decision = decider(this.state(stream, fold));
    if (!isRefusal(decision)) for (const event of decision) this.#append(stream, fold, now, event);
    return decision;
  }

  #append<S, E extends DomainEvent>(stream: string, fold: Fold<S, E>, now: number, event: E): void {
    const data = JSON.parse(JSON.stringify(event.data));
    if (!isDeepStrictEqual(data, event.data)) throw new Error(`JSON changes ${event.type}`);
    const revision = this.#revisions.get(stream) ?? 0;
    const position = String(this.events.length + 1).padStart(6, '0');
    const recorded = {
      ...{ ...event, data, id: `event-${position}`, stream, revision, position },
      metadata: { at: toTimestamp(now), actor: SYSTEM, correlationId: 'c', schema: SCHEMA },
    } as unknown as Recorded;
    this.#revisions.set(stream, revision + 1);
    this.events.push(recorded);
    this.#states.set(stream, fold.evolve(this.state(stream, fold), deeplyFrozen(event)));
    for (const readModel of READ_MODELS) this.#project(readModel, deeplyFrozen(recorded));
  }

  #project(readModel: AnyProjection, event: Recorded): void {
    if (!readModel.types.includes(event.type)) return;
    const documents = this.#documents.get(readModel.name);
    const key = readModel.key(event);
    const document = readModel.evolve(documents?.get(key), event);
    if (document === undefined) documents?.delete(key);
    else documents?.set(key, deeplyFrozen(document));
  }
}

/** A fold must not change what it is given. */
function deeplyFrozen<T extends object>(value: T): T {
  if (Object.isFrozen(value)) return value;
  for (const inside of Object.values(value)) if (typeof inside === 'object' && inside !== null) deeplyFrozen(inside);
  return Object.freeze(value);
}
