import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { EventStoreDBClient } from '@eventstore/db-client';
import { Channel, type ChannelCredentials, credentials } from '@grpc/grpc-js';
import { addressOf } from './gossip.ts';
import type { Endpoint, Settings } from './settings.ts';

/** As the client has it: an event may be larger than what can be appended over gRPC. */
const MAX_MESSAGE_BYTES = 17 * 1024 * 1024;
/** After a connection was lost, the next ones are tried after pauses that double from the first to the second of these. */
const RECONNECT_MS = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 1_000 };
/** Sent as the name of the server where it has only an IP address. Of no meaning to a server with one certificate. */
const NAMELESS = 'eventstoredb.invalid';

/** A client of one node, over a connection of its own. It does not look for another node; it is replaced. */
export class NodeClient extends EventStoreDBClient {
  readonly node: Endpoint;
  readonly #channel: Channel;
  readonly #given = new Set<(error: Error) => void>();

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
      // Connections are otherwise shared by all clients of the process, those to a node that hangs included.
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  protected override getChannel = async (): Promise<Channel> => this.#channel;

  /** Calls `listener` when calls in flight must end because the node will not answer them. @returns how to unsubscribe */
  onGivenUp(listener: (error: Error) => void): () => void {
    this.#given.add(listener);
    return () => this.#given.delete(listener);
  }

  /** Ends the calls in flight: the node will not answer them. */
  giveUp(error: Error): void {
    for (const listener of [...this.#given]) listener(error);
    this.close();
  }

  /** Takes no more calls; those in flight are left to finish. */
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
 * gRPC sends the host as the name of the server, and Node refuses an IP address there (RFC 6066). So for an address it sends
 * another name, and the certificate is checked against the address.
 */
function credentialsFor({ host }: Endpoint, { tls }: Settings): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  if (isIP(host) === 0) return credentials.createFromSecureContext(tls);
  return credentials.createFromSecureContext(tls, {
    checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
  });
}
