import { promises as dns, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import { isPublicAddress, withoutBrackets } from './public-address.ts';

/** A connection was refused because of where it would have gone. */
export class ForbiddenAddress extends Error {
  readonly address: string;

  constructor(address: string, reason = 'is not a public address') {
    super(`${address} ${reason}`);
    this.name = 'ForbiddenAddress';
    this.address = address;
  }
}

/** A host name could not be resolved. */
export class ResolutionFailed extends Error {
  constructor(hostname: string, cause: unknown) {
    super(`${hostname} cannot be resolved`, { cause });
    this.name = 'ResolutionFailed';
  }
}

/** All addresses of a host name. Throws when there are none. */
type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export type GuardOptions = {
  /** Opens http and private addresses (`WEBHOOKS_ALLOW_PRIVATE`). */
  readonly allowPrivate: boolean;
  readonly resolve?: Resolve;
  readonly tls?: Pick<SecureContextOptions, 'ca'>;
  /** Milliseconds for resolving and connecting; default 5,000. */
  readonly timeout?: number;
};

/**
 * Connects for undici, to public addresses over TLS only. Addresses are vetted inside the socket's own lookup, so there is no
 * second resolution that could answer otherwise; a name with even one forbidden address is refused whole.
 *
 * Errors with {@link ForbiddenAddress} or {@link ResolutionFailed}, or whatever the socket says.
 */
export function guardedConnector({
  allowPrivate,
  resolve,
  tls,
  timeout = 5_000,
}: GuardOptions): buildConnector.connector {
  const addressesOf = resolve ?? (allowPrivate ? resolveLocally : resolvePublicly());
  const vetted = async (hostname: string): Promise<LookupAddress[]> => {
    let addresses: readonly LookupAddress[];
    try {
      addresses = await addressesOf(hostname);
    } catch (error) {
      throw new ResolutionFailed(hostname, error);
    }
    const forbidden = allowPrivate ? undefined : addresses.find(({ address }) => !isPublicAddress(address));
    if (forbidden !== undefined) throw new ForbiddenAddress(forbidden.address);
    return [...addresses];
  };
  const lookup: LookupFunction = (hostname, options, callback) => {
    vetted(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all === true) callback(null, addresses);
        else if (first === undefined) callback(new ResolutionFailed(hostname, undefined), '');
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, ''),
    );
  };
  const connect = buildConnector({ ...tls, allowH2: false, timeout, lookup });
  return (options, callback) => {
    const host = withoutBrackets(options.hostname);
    if (!allowPrivate) {
      if (options.protocol !== 'https:') return callback(new ForbiddenAddress(host, 'is not asked over TLS'), null);
      // A literal address is never looked up.
      if (isIP(host) !== 0 && !isPublicAddress(host)) return callback(new ForbiddenAddress(host), null);
    }
    connect(options, callback);
  };
}

/** An undici dispatcher that reaches public addresses only; for whoever fetches a URL that a stranger named. */
export const guardedAgent = (options: GuardOptions): Agent => new Agent({ connect: guardedConnector(options) });

/** As this machine resolves names, `/etc/hosts` included. */
const resolveLocally: Resolve = (hostname) => dns.lookup(hostname, { all: true });

/**
 * Straight from the name servers. `dns.lookup` would run on four threads that the whole process shares: a few receivers whose
 * names do not resolve would hold up everybody else's.
 */
function resolvePublicly(): Resolve {
  const resolver = new dns.Resolver({ timeout: 2_000, tries: 2 });
  return async (hostname) => {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = [
      ...(ipv4.status === 'fulfilled' ? ipv4.value.map((address) => ({ address, family: 4 })) : []),
      ...(ipv6.status === 'fulfilled' ? ipv6.value.map((address) => ({ address, family: 6 })) : []),
    ];
    if (addresses.length === 0) throw ipv4.status === 'rejected' ? ipv4.reason : new Error('no addresses');
    return addresses;
  };
}
