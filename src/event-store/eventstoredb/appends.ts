import { WrongExpectedVersionError } from '@eventstore/db-client';
import pRetry from 'p-retry';
import { LogUnavailable, OutcomeUnknown } from '../../runtime/unavailable.ts';
import { checkEvents, checkStreamName } from '../check-event.ts';
import {
  type Appended,
  type EventToLoad,
  type ExpectedRevision,
  type NewEvent,
  type Position,
  WrongExpectedRevision,
} from '../event-store.ts';
import { type Proposed, propose, type StoredAt } from './append-stream.ts';
import type { Connection } from './connection.ts';
import { isTransient } from './failures.ts';
import { NoLeader } from './leader.ts';
import { RETRIES, type Reads } from './reads.ts';

type Expected = { readonly expectedRevision: ExpectedRevision };

/** Appends, repeated until their outcome is known. */
export function createAppends(connection: Connection, reads: Reads) {
  async function appendChecked(
    stream: string,
    events: readonly NewEvent[],
    { expectedRevision: expected }: Expected,
    mayBeDuplicate: boolean,
  ): Promise<Appended> {
    checkStreamName(stream);
    const checked = checkEvents(events);
    const proposed = propose(stream, checked, connection.names);
    const lastId = checked.at(-1)?.id;
    const givesUpAt = connection.givesUpAt();
    const eventAt = async (from: number, retries: number) => {
      const [event] = await Array.fromAsync(reads.stream(stream, { from, limit: 1 }, { retries, givesUpAt }));
      return event;
    };
    let isSent = false;
    // Every attempt uses the same ids, so the server stores the events only once.
    return pRetry(
      async (attempt): Promise<Appended> => {
        if (isSent) {
          // An earlier attempt, whose response was lost, may have stored the events.
          const last = await eventAt((expected === 'none' ? 0 : expected + 1) + checked.length - 1, 0);
          if (last !== undefined && last.id === lastId) return { revision: last.revision, position: last.position };
        }
        const { revision, position } = await send(givesUpAt, stream, proposed, expected).catch((error: unknown) => {
          isSent ||= !(error instanceof NoLeader);
          throw error;
        });
        if (position !== undefined && !mayBeDuplicate && attempt === 1) return { revision, position };
        const last = await eventAt(revision, RETRIES);
        if (last === undefined) throw new Error(`Stream ${stream} has no event at revision ${revision}, just appended`);
        return { revision, position: last.position };
      },
      {
        retries: RETRIES,
        // No attempt starts after two deadlines.
        maxRetryTime: connection.deadlineMs * 2,
        minTimeout: 50,
        factor: 3,
        randomize: true,
        shouldRetry: ({ error }) => mayRepeat(error) && performance.now() < givesUpAt,
      },
    ).catch((error: unknown) => {
      if (!mayRepeat(error)) throw error;
      // The events may have been stored, or may still be.
      const unavailable = new LogUnavailable(error.message, error);
      throw isSent ? new OutcomeUnknown(error.message, unavailable) : unavailable;
    });
  }

  async function send(
    givesUpAt: number,
    stream: string,
    proposed: Proposed,
    expected: ExpectedRevision,
  ): Promise<StoredAt> {
    try {
      return await connection.append(givesUpAt, connection.names.onServer(stream), proposed, expected);
    } catch (error) {
      if (!(error instanceof WrongExpectedVersionError)) throw error;
      const actual = typeof error.actualVersion === 'bigint' ? Number(error.actualVersion) : 'none';
      throw new WrongExpectedRevision(stream, expected, actual);
    }
  }

  return {
    append: (stream: string, events: readonly NewEvent[], expected: Expected): Promise<Appended> =>
      // For a duplicate append, the server may omit the position of the last event.
      appendChecked(
        stream,
        events,
        expected,
        events.some(({ id }) => id !== undefined),
      ),

    async load(events: readonly EventToLoad[]): Promise<readonly Position[]> {
      const positions: Position[] = [];
      // One after another, because the server assigns positions in storage order.
      for (const { stream, revision, position: _, ...event } of events) {
        const expectedRevision = revision === 0 ? 'none' : revision - 1;
        positions.push((await appendChecked(stream, [event], { expectedRevision }, false)).position);
      }
      return positions;
    },
  };
}

const mayRepeat = (error: unknown): error is Error => isTransient(error) && !(error instanceof WrongExpectedRevision);
