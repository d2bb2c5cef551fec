import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import { parseConnectionString } from '@eventstore/db-client/dist/Client/parseConnectionString.js';

/** The address of a node. */
export type Endpoint = { readonly host: string; readonly port: number };

/** The settings in the URL, with the service's defaults. */
export type Settings = Readonly<ReturnType<typeof readSettings>>;

/** The most that a hanging node can delay a round of gossip. */
const GOSSIP_TIMEOUT_MS = 1_000;
const DISCOVERY_INTERVAL_MS = 100;
/** A lost node is detected after interval plus timeout. The client's defaults are 10 s each. */
const KEEP_ALIVE_INTERVAL_MS = 2_000;
const KEEP_ALIVE_TIMEOUT_MS = 3_000;

/** @throws {TypeError} if the URL is malformed or unsupported. The message does not quote the URL, which may contain a password. */
export function readSettings(url: string) {
  const options = parse(url.replace(/^kurrent(db)?(?=[:+])/, 'esdb'));
  if (options.nodePreference !== undefined && options.nodePreference !== 'leader')
    throw new TypeError('nodePreference must be leader or be left out: the service reads what it has just written');
  // 0 would leave nodes no time to answer, or ask them without a pause.
  for (const name of ['gossipTimeout', 'discoveryInterval'] as const)
    if ((options[name] ?? 1) <= 0) throw new TypeError(`${name} must be above 0`);
  // The client's parser takes everything before the port as the host.
  const seeds = options.hosts.map(({ address, port }) => ({ host: address.replace(/\/$/, ''), port }));
  if (seeds.some(({ host }) => /[/@]/.test(host)))
    throw new TypeError('is not a connection string of EventStoreDB (user and password have to be percent-encoded)');
  return {
    /** The addresses in the URL: one node, some of a cluster, or (`isName`) one name for all nodes. */
    seeds: options.dnsDiscover ? seeds.slice(0, 1) : seeds,
    /** Whether the seed is a name for all nodes (`esdb+discover:`). */
    isName: options.dnsDiscover,
    credentials: options.defaultCredentials,
    /** Certificates; undefined for connections without TLS. */
    tls: options.tls === false ? undefined : certificates(options),
    connectionName: options.connectionName,
    /** How long a node may take to answer a gossip request. */
    gossipTimeoutMs: options.gossipTimeout === undefined ? GOSSIP_TIMEOUT_MS : options.gossipTimeout * 1_000,
    /** The first pause between two rounds of gossip. */
    discoveryIntervalMs: options.discoveryInterval ?? DISCOVERY_INTERVAL_MS,
    /** The silence after which a connection in use is pinged, and the timeout of the ping. -1 disables pings. */
    keepAliveIntervalMs: options.keepAliveInterval ?? KEEP_ALIVE_INTERVAL_MS,
    keepAliveTimeoutMs: options.keepAliveTimeout ?? KEEP_ALIVE_TIMEOUT_MS,
  };
}

type Options = ReturnType<typeof parseConnectionString>;

function parse(url: string): Options {
  try {
    return parseConnectionString(url);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^Unexpected ".*" (?=at position)/s, '') : '';
    throw new TypeError(`is not a connection string of EventStoreDB (${reason.replace(/\.$/, '')})`);
  }
}

function certificates({ tlsCAFile, userCertFile, userKeyFile }: Options): SecureContext {
  if ((userCertFile === undefined) !== (userKeyFile === undefined))
    throw new TypeError('userCertFile and userKeyFile must be given together');
  const read = (option: string, file: string | undefined) => {
    if (file === undefined) return undefined;
    try {
      return readFileSync(file);
    } catch (error) {
      throw new TypeError(`${option} cannot be read (${error instanceof Error ? error.message : error})`);
    }
  };
  return createSecureContext({
    ca: read('tlsCAFile', tlsCAFile),
    cert: read('userCertFile', userCertFile),
    key: read('userKeyFile', userKeyFile),
  });
}
