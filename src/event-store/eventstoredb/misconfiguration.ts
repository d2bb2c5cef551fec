import { connect } from 'node:tls';
import { addressOf } from './gossip.ts';
import type { Endpoint, Settings } from './settings.ts';

/** Node.js error codes for a certificate of an unknown authority. */
const UNKNOWN_AUTHORITY: ReadonlySet<unknown> = new Set([
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'INVALID_CA',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
/** Node.js error codes for a response that is not TLS. */
const NOT_TLS: ReadonlySet<unknown> = new Set(['ERR_SSL_PACKET_LENGTH_TOO_LONG', 'ERR_SSL_WRONG_VERSION_NUMBER']);

/** The cause of a failure that waiting cannot fix, and the remedy: TLS on one side only, or a rejected certificate. */
export async function misconfiguration(
  error: unknown,
  node: Endpoint,
  settings: Settings,
): Promise<string | undefined> {
  const server = `EventStoreDB at ${addressOf(node)}`;
  if (settings.tls === undefined)
    return (await speaksTls(node, settings.gossipTimeoutMs))
      ? `${server} uses TLS: remove tls=false, and name the file of its authority in tlsCAFile`
      : undefined;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const reason = error instanceof Error ? error.message : '';
  if (NOT_TLS.has(code)) return `${server} does not use TLS: add tls=false`;
  if (UNKNOWN_AUTHORITY.has(code))
    return `the certificate of ${server} is not signed by a known authority (${reason}): name the file of its authority in tlsCAFile`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `the certificate of ${server} is for another name (${reason}): name the node as its certificate does`;
  return code === 'CERT_HAS_EXPIRED' ? `the certificate of ${server} has expired: replace it` : undefined;
}

/** Whether a node completes a TLS handshake with any certificate. */
async function speaksTls({ host, port }: Endpoint, withinMs: number): Promise<boolean> {
  const socket = connect({ host, port, rejectUnauthorized: false, ALPNProtocols: ['h2'], timeout: withinMs });
  try {
    return await new Promise<boolean>((resolve) => {
      socket
        .on('secureConnect', () => resolve(true))
        .on('error', () => resolve(false))
        .on('close', () => resolve(false))
        .on('timeout', () => resolve(false));
    });
  } finally {
    socket.destroy();
  }
}
