import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { EventStoreDBClient } from '@eventstore/db-client';
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { Channel, type ChannelCredentials, credentials } from '@grpc/grpc-js';
import { addressOf } from './gossip.ts';
import type { Endpoint, Settings } from './settings.ts';

/** The client's own value: an event may exceed the append limit of gRPC. */
const MAX_MESSAGE_BYTES = 17 * 1024 * 1024;
/** The first and the longest pause before gRPC reconnects; it doubles in between. */
const RECONNECT_MS = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 1_000 };
/** The TLS server name for an IP address. A server with one certificate ignores it. */
const NAMELESS = 'eventstoredb.invalid';

export type BatchAppend = ReturnType<InstanceType<typeof streamsGrpc.StreamsClient>['batchAppend']>;

/** A client of one node, with its own connection. Never fails over to another node; the caller replaces it. */
export class NodeClient extends EventStoreDBClient {
  readonly node: Endpoint;
  readonly #channel: Channel;
  readonly #giveUpListeners = new Set<(error: Error) => void>();

  constructor(node: Endpoint, settings: Settings) {
    super(
      { endpoint: { address: node.host, port: node.port }, ...named(settings.connectionName) },
      { insecure: settings.tls === undefined },
      settings.credentials,
    );
    this.node = node;
    this.#channel = new Channel(addressOf(node), credentialsFor(node, settings), {
      ...keepAlive(settings),
      ...RECONNECT_MS,
      ...(settings.tls !== undefined && isIP(node.host) !== 0 ? { 'grpc.ssl_target_name_override': NAMELESS } : {}),
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      // Otherwise all clients of the process would share connections, including those to a hanging node.
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  /**
   * The client would make a channel of its own, which takes neither the TLS settings of the URL nor the options above. So connections over TLS
   * (docs/promises.md) need this: without it, test/event-store/eventstoredb/tls.test.ts fails.
   */
  protected override getChannel = async (): Promise<Channel> => this.#channel;

  /** Opens a call over which appends are sent. It is open until `use` ends. Only a subclass of the client may open one of its own. */
  batchAppend(use: (call: BatchAppend) => Promise<void>): Promise<void> {
    // A former leader then refuses appends, instead of forwarding them to a leader that may not answer.
    const options = [{ requiresLeader: true }, { deadline: Number.POSITIVE_INFINITY }] as const;
    return this.execute(streamsGrpc.StreamsClient, 'batchAppend', (grpc) =>
      use(grpc.batchAppend(...this.callArguments(...options))),
    );
  }

  /** Calls `listener` when calls in flight must end because the node will not answer them. @returns how to unsubscribe */
  onGivenUp(listener: (error: Error) => void): () => void {
    this.#giveUpListeners.add(listener);
    return () => this.#giveUpListeners.delete(listener);
  }

  /** Ends the calls in flight: the node will not answer them. */
  giveUp(error: Error): void {
    for (const listener of [...this.#giveUpListeners]) listener(error);
    this.close();
  }

  /** Accepts no more calls. Those in flight may finish. */
  retire(): void {
    this.#channel.close();
  }

  close(): void {
    this.dispose().catch(() => {});
    this.#channel.close();
  }
}

const named = (connectionName: string | undefined) => (connectionName === undefined ? {} : { connectionName });

const keepAlive = ({ keepAliveIntervalMs, keepAliveTimeoutMs }: Settings) =>
  keepAliveIntervalMs < 0
    ? {}
    : {
        'grpc.keepalive_time_ms': keepAliveIntervalMs,
        'grpc.keepalive_timeout_ms': keepAliveTimeoutMs < 0 ? Number.MAX_SAFE_INTEGER : keepAliveTimeoutMs,
      };

/**
 * gRPC sends the host as TLS server name, but Node refuses an IP address there (RFC 6066). For an address, this sends another name
 * and checks the certificate against the address.
 */
function credentialsFor({ host }: Endpoint, { tls }: Settings): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  if (isIP(host) === 0) return credentials.createFromSecureContext(tls);
  return credentials.createFromSecureContext(tls, {
    checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
  });
}
