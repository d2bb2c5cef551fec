import { WrongExpectedVersionError } from '@eventstore/db-client';
import pRetry from 'p-retry';
import { LogAway, OutcomeUnknown } from '../../runtime/unavailable.ts';
import { checkEvents, checkStreamName } from '../check-event.ts';
import {
  type Appended,
  type EventToLoad,
  type ExpectedRevision,
  type NewEvent,
  type Position,
  type StoredEvent,
  WrongExpectedRevision,
} from '../event-store.ts';
import { type Proposed, propose, type StoredAt } from './append-stream.ts';
import { type Connection, isTransient } from './connection.ts';
import { NoLeader } from './leader.ts';
import { checkOpen, isServerUnavailable, RETRIES, type Reads, type RetryLimit } from './reads.ts';

/** Appends, repeated until their outcome is known. */
export class Appends {
  readonly #connection: Connection;
  readonly #reads: Reads;
  readonly #closing: AbortSignal;

  constructor(connection: Connection, reads: Reads, closing: AbortSignal) {
    this.#connection = connection;
    this.#reads = reads;
    this.#closing = closing;
  }

  append(
    stream: string,
    events: readonly NewEvent[],
    options: { readonly expectedRevision: ExpectedRevision },
  ): Promise<Appended> {
    // For a duplicate append, the server may omit the position of the last event.
    return this.#append(
      stream,
      events,
      options,
      events.some(({ id }) => id !== undefined),
    );
  }

  async load(events: readonly EventToLoad[]): Promise<readonly Position[]> {
    const positions: Position[] = [];
    // One after another, because the server assigns positions in storage order.
    for (const { stream, revision, position: _, ...event } of events) {
      const expectedRevision = revision === 0 ? 'none' : revision - 1;
      positions.push((await this.#append(stream, [event], { expectedRevision }, false)).position);
    }
    return positions;
  }

  async #append(
    stream: string,
    events: readonly NewEvent[],
    options: { readonly expectedRevision: ExpectedRevision },
    mayBeDuplicate: boolean,
  ): Promise<Appended> {
    checkOpen(this.#closing);
    checkStreamName(stream);
    const checked = checkEvents(events);
    const proposed = propose(stream, checked, this.#connection.names);
    const ids = checked.map(({ id }) => id);
    const { expectedRevision } = options;
    const givesUpAt = this.#connection.givesUpAt();
    let isSent = false;
    // Every attempt uses the same ids, so the server stores the events only once.
    return pRetry(
      async (attempt) => {
        if (isSent) {
          const earlier = await this.#findAppended(stream, ids, expectedRevision, givesUpAt);
          if (earlier !== undefined) return earlier;
        }
        const stored = await this.#send(givesUpAt, stream, proposed, expectedRevision).catch((error: unknown) => {
          isSent ||= !(error instanceof NoLeader);
          throw error;
        });
        return this.#appended(stream, stored, mayBeDuplicate || attempt > 1, givesUpAt);
      },
      {
        retries: RETRIES,
        // No attempt starts after two deadlines.
        maxRetryTime: this.#connection.deadlineMs * 2,
        minTimeout: 50,
        factor: 3,
        randomize: true,
        shouldRetry: ({ error }) =>
          isTransient(error) &&
          !(error instanceof WrongExpectedRevision) &&
          performance.now() < givesUpAt &&
          !this.#closing.aborted,
      },
    ).catch((error: unknown) => {
      if (error instanceof WrongExpectedRevision || !isServerUnavailable(error, this.#closing)) throw error;
      // The events may have been stored, or may still be.
      const away = new LogAway(error.message, error);
      throw isSent ? new OutcomeUnknown(error.message, away) : away;
    });
  }

  async #send(givesUpAt: number, stream: string, proposed: Proposed, expected: ExpectedRevision): Promise<StoredAt> {
    try {
      const onServer = this.#connection.names.onServer(stream);
      return await this.#connection.append(givesUpAt, onServer, proposed, expected);
    } catch (error) {
      if (!(error instanceof WrongExpectedVersionError)) throw error;
      const actual = typeof error.actualVersion === 'bigint' ? Number(error.actualVersion) : 'none';
      throw new WrongExpectedRevision(stream, expected, actual);
    }
  }

  async #appended(
    stream: string,
    { revision, position }: StoredAt,
    mayBeDuplicate: boolean,
    givesUpAt: number,
  ): Promise<Appended> {
    if (position !== undefined && !mayBeDuplicate) return { revision, position };
    const [last] = await this.#readOne(stream, revision, { retries: RETRIES, givesUpAt });
    if (last === undefined) throw new Error(`Stream ${stream} has no event at revision ${revision}, just appended`);
    return { revision, position: last.position };
  }

  /** Finds events of an earlier attempt whose response was lost. */
  async #findAppended(
    stream: string,
    ids: readonly string[],
    expected: ExpectedRevision,
    givesUpAt: number,
  ): Promise<Appended | undefined> {
    const from = (expected === 'none' ? 0 : expected + 1) + ids.length - 1;
    const [last] = await this.#readOne(stream, from, { retries: 0, givesUpAt });
    return last !== undefined && last.id === ids.at(-1)
      ? { revision: last.revision, position: last.position }
      : undefined;
  }

  #readOne(stream: string, from: number, retryLimit: RetryLimit): Promise<StoredEvent[]> {
    return Array.fromAsync(this.#reads.stream(stream, { from, limit: 1 }, retryLimit));
  }
}
