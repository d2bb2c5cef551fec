import { lookup } from 'node:dns/promises';
import { type ClientHttp2Session, connect, constants, type SecureClientSessionOptions } from 'node:http2';
import { isIP, isIPv6 } from 'node:net';
import gossipGrpc from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import { status } from '@grpc/grpc-js';
import type { Endpoint, Settings } from './settings.ts';

/** A node of the cluster, as reported by a node. */
export type Member = { readonly endpoint: Endpoint; readonly leads: boolean };

/** A node answered, but without gossip. It is reachable. */
export class GossipRefused extends Error {
  /** The node rejected the user or the password. */
  readonly isUserRejected: boolean;

  constructor(http: number, grpc: number, reason: string) {
    super(
      `it answered with ${http === 200 ? `gRPC status ${grpc}` : `HTTP status ${http}`}${reason && ` (${reason})`}`,
    );
    this.name = 'GossipRefused';
    this.isUserRejected = http === constants.HTTP_STATUS_UNAUTHORIZED || grpc === status.UNAUTHENTICATED;
  }
}

/** The address as in a URL, with IPv6 in brackets. */
export const addressOf = ({ host, port }: Endpoint): string => `${isIPv6(host) ? `[${host}]` : host}:${port}`;

/** The addresses of a name. Each counts as a node, so that a hanging one does not block the others. */
export async function resolveSeed({ host, port }: Endpoint): Promise<readonly Endpoint[]> {
  if (isIP(host) !== 0) return [{ host, port }];
  return (await lookup(host, { all: true })).map(({ address }) => ({ host: address, port }));
}

/** The service, method and messages are the client's; a message is preceded by a flag and its length. */
const { path, requestSerialize, responseDeserialize } = gossipGrpc.GossipService.read;
const PREFIX_BYTES = 5;

/**
 * Asks a node for the cluster's members and leader. Uses its own connection and closes it at the end: gRPC would keep waiting for a
 * node that accepts connections but never answers.
 * @param name the name in its certificate, if not the host
 * @throws {GossipRefused} if the node answers something else; another error if it does not answer within `gossipTimeoutMs`
 */
export async function readGossip(endpoint: Endpoint, settings: Settings, name?: string): Promise<readonly Member[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly Member[]>();
  const { tls, gossipTimeoutMs, credentials } = settings;
  const secure: SecureClientSessionOptions =
    tls === undefined ? {} : { secureContext: tls, ...(name === undefined || isIP(name) ? {} : { servername: name }) };
  const session = connect(`${tls === undefined ? 'http' : 'https'}://${addressOf(endpoint)}`, secure);
  const timer = setTimeout(() => reject(new Error(`it did not answer within ${gossipTimeoutMs} ms`)), gossipTimeoutMs);
  session.on('error', reject).on('close', () => reject(new Error('it closed the connection')));
  try {
    const user = credentials === undefined ? [] : [['authorization', basic(credentials)] as const];
    ask(session, Object.fromEntries(tls === undefined ? [] : user), resolve, reject);
    return await promise;
  } finally {
    clearTimeout(timer);
    session.destroy();
  }
}

const basic = ({ username, password }: NonNullable<Settings['credentials']>) =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

function ask(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>>,
  resolve: (members: readonly Member[]) => void,
  reject: (error: Error) => void,
): void {
  const call = session.request({
    ...headers,
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: path,
    [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
    [constants.HTTP2_HEADER_TE]: 'trailers',
  });
  const received: Buffer[] = [];
  const refusedBy = (from: Readonly<Record<string, unknown>>): void => {
    const http = Number(from[':status'] ?? 200);
    const grpc = Number(from['grpc-status'] ?? 0);
    if (http !== 200 || grpc !== 0) reject(new GossipRefused(http, grpc, String(from['grpc-message'] ?? '')));
  };
  call
    // Without a connection, the reason is in `cause`.
    .on('error', (error) => reject(error.cause instanceof Error ? error.cause : error))
    .on('response', refusedBy)
    .on('trailers', refusedBy)
    .on('data', (chunk: Buffer) => received.push(chunk))
    .on('end', () => {
      // A server that expects TLS ends the stream without data.
      if (received.length === 0) return reject(new Error('its answer was empty'));
      const message = Buffer.concat(received).subarray(PREFIX_BYTES);
      try {
        resolve(responseDeserialize(message).getMembersList().flatMap(memberOf));
      } catch (error) {
        reject(new Error('its answer was not gossip', { cause: error }));
      }
    });
  const request = requestSerialize(new shared.Empty());
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(request.length, 1);
  call.end(Buffer.concat([prefix, request]));
}

function memberOf(member: InstanceType<typeof gossip.MemberInfo>): Member[] {
  const at = member.getHttpEndPoint();
  if (at === undefined) return [];
  const leads = member.getIsAlive() && member.getState() === gossip.MemberInfo.VNodeState.LEADER;
  return [{ endpoint: { host: at.getAddress(), port: at.getPort() }, leads }];
}
