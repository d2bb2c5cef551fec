import { randomUUID } from 'node:crypto';
import {
  AccessDeniedError,
  CancelledError,
  convertToCommandError,
  InvalidArgumentError,
  StreamDeletedError,
  TimeoutError,
  UnavailableError,
  UnknownError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { within } from '../../event-loop/within.ts';
import type { CheckedEvent } from '../check-event.ts';
import type { ExpectedRevision, Position } from '../event-store.ts';
import type { Names } from './names.ts';
import type { BatchAppend, NodeClient } from './node-client.ts';
import { positionOf } from './stored-event.ts';

/** The server's default limit for one append (`MaxAppendSize`). */
const MAX_APPEND_BYTES = 1_048_576;

/** The events of one append in the server's format. They may be sent more than once. */
export type Proposed = readonly streams.BatchAppendReq.ProposedMessage[];

/** @throws {RangeError} if they exceed the server's limit, which it would report as a timeout */
export function propose(stream: string, events: readonly CheckedEvent[], names: Names): Proposed {
  let bytes = 0;
  const proposed = events.map(({ id, type: ours, ...event }) => {
    const type = names.onServer(ours);
    const data = Buffer.from(JSON.stringify(event.data));
    const metadata = Buffer.from(JSON.stringify(event.metadata));
    // The server's own formula.
    bytes += data.length + metadata.length + 2 * type.length;
    const message = new streams.BatchAppendReq.ProposedMessage()
      .setId(new shared.UUID().setString(id))
      .setData(data)
      .setCustomMetadata(metadata);
    message.getMetadataMap().set('type', type).set('content-type', 'application/json');
    return message;
  });
  if (bytes > MAX_APPEND_BYTES)
    throw new RangeError(`An append to ${stream} is of ${bytes} bytes; EventStoreDB takes ${MAX_APPEND_BYTES} at most`);
  return proposed;
}

/** The position is absent if the server does not send it. */
export type StoredAt = { readonly revision: number; readonly position: Position | undefined };

type Pending = PromiseWithResolvers<StoredAt> & { readonly stream: string };

/**
 * One call of `BatchAppend`, over which appends run concurrently, in no order. It does not reconnect: when it ends, every pending
 * append fails with an unknown outcome (docs/decisions/eventstoredb.md). With the client's own `appendToStream`, an answer that arrives after
 * another connection broke crashes the process: test/event-store/eventstoredb/cluster.test.ts then reports it, and closing is not clean in
 * event-store.test.ts beside it. So a booking would be lost when a connection drops or a leader hangs (docs/promises.md).
 */
export class AppendStream {
  readonly #pending = new Map<string, Pending>();
  readonly #call = Promise.withResolvers<BatchAppend>();
  #failure: Error | undefined;

  constructor(client: NodeClient) {
    const withdraw = client.onGivenUp((error) => {
      this.#end(error);
      this.#cancel();
    });
    client
      .batchAppend((call) => {
        call.on('data', (response) => this.#answered(response));
        this.#call.resolve(call);
        // Never removed: an 'error' event without a listener would crash the process.
        return new Promise<void>((resolve, reject) => call.on('error', reject).on('end', resolve));
      })
      .then(
        () => this.#end(new UnavailableError(undefined, 'EventStoreDB ended the stream of appends')),
        (error: Error) => this.#end(convertToCommandError(error)),
      )
      .finally(withdraw);
  }

  /** Whether the stream has ended, so that it accepts no more appends. */
  get ended(): boolean {
    return this.#failure !== undefined;
  }

  /**
   * Sends an append. Waits for the answer without a limit.
   * @throws {WrongExpectedVersionError} if the stream is not at `expected`
   */
  append(stream: string, proposed: Proposed, expected: ExpectedRevision): Promise<StoredAt> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    // No deadline for the server, because it would be a time of day on this machine's clock.
    const options = new streams.BatchAppendReq.Options().setStreamIdentifier(
      new shared.StreamIdentifier().setStreamName(Buffer.from(stream)),
    );
    if (expected === 'none') options.setNoStream(new shared.Empty());
    else options.setStreamPosition(String(expected));
    const id = randomUUID();
    const request = new streams.BatchAppendReq()
      .setCorrelationId(new shared.UUID().setString(id))
      .setOptions(options)
      .setProposedMessagesList([...proposed])
      .setIsFinal(true);
    const pending = { ...Promise.withResolvers<StoredAt>(), stream };
    this.#pending.set(id, pending);
    // Appends that wait for the call to open are sent in order.
    void this.#call.promise.then((call) => call.write(request));
    return pending.promise;
  }

  /** Ends the stream once nothing is pending, or after `withinMs`. */
  async close(withinMs: number): Promise<void> {
    const settled = Promise.allSettled([...this.#pending.values()].map(({ promise }) => promise));
    await within(withinMs, settled).catch(() => {});
    this.#end(new CancelledError(undefined, 'The stream of appends was closed'));
    this.#cancel();
  }

  #cancel(): void {
    void this.#call.promise.then((call) => call.cancel());
  }

  #answered(response: streams.BatchAppendResp): void {
    const id = textOf(response.getCorrelationId());
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    const success = response.getSuccess();
    if (success === undefined) {
      pending.reject(failureOf(pending.stream, response.getError()));
      return;
    }
    const at = success.getPosition();
    pending.resolve({
      revision: Number(success.getCurrentRevision()),
      position: at && positionOf({ commit: BigInt(at.getCommitPosition()), prepare: BigInt(at.getPreparePosition()) }),
    });
  }

  #end(failure: Error): void {
    this.#failure ??= failure;
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#pending.clear();
  }
}

/** The error of a failed append. After a transient error, the outcome is unknown. */
function failureOf(stream: string, status: ReturnType<streams.BatchAppendResp['getError']>): Error {
  const details = status?.getDetails();
  const message = status?.getMessage() || 'no reason given';
  switch (details?.getTypeName()) {
    case 'event_store.client.WrongExpectedVersion': {
      const wrong = details.unpack(shared.WrongExpectedVersion.deserializeBinary, details.getTypeName());
      if (wrong !== null) return WrongExpectedVersionError.fromWrongExpectedVersion(wrong, stream);
      break;
    }
    case 'event_store.client.AccessDenied':
      return new AccessDeniedError();
    case 'event_store.client.StreamDeleted':
      return StreamDeletedError.fromStreamName(stream);
    case 'event_store.client.MaximumAppendSizeExceeded':
    case 'event_store.client.BadRequest':
    case 'event_store.client.InvalidTransaction':
      return new InvalidArgumentError(`EventStoreDB refused an append to ${stream}: ${message}`);
    case 'event_store.client.Timeout':
      return new TimeoutError(undefined, `EventStoreDB took too long over an append to ${stream}`);
  }
  return new UnknownError(undefined, `EventStoreDB failed on an append to ${stream}: ${message}`);
}

/** A UUID as text. Servers return it unchanged or, after a timeout, as two signed 64-bit integers. */
function textOf(uuid: shared.UUID | undefined): string {
  const structured = uuid?.getStructured();
  if (structured === undefined) return uuid?.getString() ?? '';
  const [high, low] = [structured.getMostSignificantBits(), structured.getLeastSignificantBits()].map((bits) =>
    BigInt.asUintN(64, BigInt(bits)).toString(16).padStart(16, '0'),
  );
  return `${high}${low}`.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
