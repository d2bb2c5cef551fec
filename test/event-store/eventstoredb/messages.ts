/** The data of the test server, and the messages that it builds from its data and from requests. */
import persistent from '@eventstore/db-client/generated/persistent_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import rpcStatus from '@eventstore/db-client/generated/status_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { Metadata, status } from '@grpc/grpc-js';

/** An event as the test server stores it. */
export type Recorded = {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  readonly commit: bigint;
  readonly prepare: bigint;
  readonly created: number;
};

/** An event as a client sends it. */
export type Proposed = Pick<Recorded, 'id' | 'type' | 'contentType' | 'data' | 'metadata'>;

/** A parked event, through the link to it. */
export type Link = { readonly link: Recorded; readonly event: Recorded };

/** The last event of an append, or the actual revision of the stream, -1 if it does not exist. */
export type Outcome = { readonly stored: Recorded } | { readonly actual: number };

/** How a call is rejected. */
export type Failure = { readonly code: status; readonly details: string; readonly metadata?: Metadata };

/** How the protocol represents an unknown position. */
export const UNKNOWN_POSITION = 2n ** 64n - 1n;

export const text = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('utf8');

export function position(record: Recorded | undefined): Pick<Recorded, 'commit' | 'prepare'> {
  return { commit: record?.commit ?? UNKNOWN_POSITION, prepare: record?.prepare ?? UNKNOWN_POSITION };
}

export function identifier(stream: string): shared.StreamIdentifier {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(stream));
}

/** Negative if the record is before the position. */
export function compare(record: Recorded, position: streams.ReadReq.Options.Position): number {
  const [commit, prepare] = [BigInt(position.getCommitPosition()), BigInt(position.getPreparePosition())];
  if (record.commit !== commit) return record.commit < commit ? -1 : 1;
  return record.prepare < prepare ? -1 : record.prepare > prepare ? 1 : 0;
}

export function proposed(
  message: streams.AppendReq.ProposedMessage | streams.BatchAppendReq.ProposedMessage,
): Proposed {
  return {
    id: message.getId()?.getString() ?? '',
    type: message.getMetadataMap().get('type') ?? '',
    contentType: message.getMetadataMap().get('content-type') ?? '',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
}

export function unaryAnswer(outcome: Outcome, expected: number | undefined): streams.AppendResp {
  if ('stored' in outcome) {
    const { revision, commit, prepare } = outcome.stored;
    const position = new streams.AppendResp.Position()
      .setCommitPosition(String(commit))
      .setPreparePosition(String(prepare));
    return new streams.AppendResp().setSuccess(
      new streams.AppendResp.Success().setCurrentRevision(String(revision)).setPosition(position),
    );
  }
  const wrong = new streams.AppendResp.WrongExpectedVersion();
  if (outcome.actual >= 0) wrong.setCurrentRevision(String(outcome.actual));
  else wrong.setCurrentNoStream(new shared.Empty());
  if (expected === -1) wrong.setExpectedNoStream(new shared.Empty());
  else wrong.setExpectedRevision(String(expected));
  return new streams.AppendResp().setWrongExpectedVersion(wrong);
}

export function batchAnswer(outcome: Outcome, expected: number | undefined): streams.BatchAppendResp {
  if ('stored' in outcome) {
    const { revision, commit, prepare } = outcome.stored;
    const position = new shared.AllStreamPosition()
      .setCommitPosition(String(commit))
      .setPreparePosition(String(prepare));
    return new streams.BatchAppendResp().setSuccess(
      new streams.BatchAppendResp.Success().setCurrentRevision(String(revision)).setPosition(position),
    );
  }
  const wrong = new shared.WrongExpectedVersion();
  if (outcome.actual >= 0) wrong.setCurrentStreamRevision(String(outcome.actual));
  else wrong.setCurrentNoStream(new shared.Empty());
  if (expected === -1) wrong.setExpectedNoStream(new shared.Empty());
  else wrong.setExpectedStreamPosition(String(expected));
  return new streams.BatchAppendResp().setError(
    statusOf(
      status.ALREADY_EXISTS,
      'WrongExpectedVersion',
      'event_store.client.WrongExpectedVersion',
      wrong.serializeBinary(),
    ),
  );
}

/** A `google.rpc.Status`, encoded by hand, because its details are of a class that the client does not export. */
export function statusOf(
  code: status,
  message: string,
  type: string,
  details: Uint8Array = new Uint8Array(),
): ReturnType<typeof rpcStatus.Status.deserializeBinary> {
  const field = (number: number, bytes: Uint8Array) => Buffer.from([(number << 3) | 2, bytes.length, ...bytes]);
  const any = Buffer.concat([field(1, Buffer.from(`type.googleapis.com/${type}`)), field(2, details)]);
  return rpcStatus.Status.deserializeBinary(
    Buffer.concat([Buffer.from([8, code]), field(2, Buffer.from(message)), field(3, any)]),
  );
}

/** A UUID in the format of a real server that timed out: two signed integers. Otherwise it returns the UUID it received. */
export function structured(id: string): shared.UUID {
  const digits = id.replaceAll('-', '');
  const [high = 0n, low = 0n] = [digits.slice(0, 16), digits.slice(16)].map((half) =>
    BigInt.asIntN(64, BigInt(`0x${half}`)),
  );
  const uuid = new shared.UUID.Structured().setMostSignificantBits(String(high)).setLeastSignificantBits(String(low));
  return new shared.UUID().setStructured(uuid);
}

export function exception(name: string): Metadata {
  const metadata = new Metadata();
  metadata.set('exception', name);
  return metadata;
}

export function leaderIs(host: string, port: number): Failure {
  const metadata = exception('not-leader');
  metadata.set('leader-endpoint-host', host);
  metadata.set('leader-endpoint-port', String(port));
  return { code: status.NOT_FOUND, details: 'Leader info available', metadata };
}

function fill<Message extends streams.ReadResp.ReadEvent.RecordedEvent | persistent.ReadResp.ReadEvent.RecordedEvent>(
  message: Message,
  record: Recorded,
): Message {
  message.setId(new shared.UUID().setString(record.id));
  message.setStreamIdentifier(identifier(record.stream));
  message.setStreamRevision(String(record.revision));
  message.setCommitPosition(String(record.commit));
  message.setPreparePosition(String(record.prepare));
  message.setData(record.data);
  message.setCustomMetadata(record.metadata);
  message.getMetadataMap().set('type', record.type);
  message.getMetadataMap().set('content-type', record.contentType);
  message.getMetadataMap().set('created', String(BigInt(record.created) * 10_000n));
  return message;
}

export function readEvent(record: Recorded, resolved?: Link): streams.ReadResp.ReadEvent {
  const message = new streams.ReadResp.ReadEvent().setCommitPosition(String(record.commit));
  message.setEvent(fill(new streams.ReadResp.ReadEvent.RecordedEvent(), resolved?.event ?? record));
  if (resolved !== undefined) message.setLink(fill(new streams.ReadResp.ReadEvent.RecordedEvent(), resolved.link));
  return message;
}

export function persistentRecord(record: Recorded): persistent.ReadResp.ReadEvent.RecordedEvent {
  return fill(new persistent.ReadResp.ReadEvent.RecordedEvent(), record);
}

export function failure(
  code: status,
  name: string,
  group: string,
): { code: status; details: string; metadata: Metadata } {
  const metadata = exception(name);
  metadata.set('stream-name', '$all');
  metadata.set('group-name', group);
  return { code, details: name, metadata };
}
