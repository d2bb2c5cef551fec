import { promises as dns, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import { isPublicAddress, withoutBrackets } from './public-address.ts';

/** A connection was refused because its target is not allowed. */
export class ForbiddenAddress extends Error {
  /** Whether a name was resolved. Its addresses may be those of the operator's network, so that only the operator may learn them. */
  readonly isResolved: boolean;

  constructor(host: string, reason: string, isResolved = false) {
    super(`${host} ${reason}`);
    this.name = 'ForbiddenAddress';
    this.isResolved = isResolved;
  }
}

/** A host name could not be resolved. */
export class ResolutionFailed extends Error {
  constructor(hostname: string, cause: unknown) {
    super(`${hostname} cannot be resolved`, { cause });
    this.name = 'ResolutionFailed';
  }
}

/** Resolves a host name to all its addresses. Throws if there are none. */
type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export type GuardOptions = {
  /** Allows http and private addresses (`WEBHOOKS_ALLOW_PRIVATE`). */
  readonly allowPrivate: boolean;
  readonly resolve?: Resolve;
  readonly tls?: Pick<SecureContextOptions, 'ca'>;
  /** Called with the name and its forbidden address before a connection to it is refused. Only for the operator's log. */
  readonly onForbidden?: (refused: { readonly hostname: string; readonly address: string }) => void;
  /** Time limit for resolving and connecting, in milliseconds. Default 5 s. */
  readonly timeoutMs?: number;
};

/**
 * An undici connector that reaches only public addresses, over TLS. Addresses are checked inside the socket's own lookup, so
 * there is no second resolution that could return others (DNS rebinding). A name with even one forbidden address is refused
 * (docs/decisions/webhook-deliveries.md).
 *
 * Fails with {@link ForbiddenAddress}, {@link ResolutionFailed} or an error of the socket.
 */
export function guardedConnector({
  allowPrivate,
  resolve,
  tls,
  onForbidden,
  timeoutMs = 5_000,
}: GuardOptions): buildConnector.connector {
  const addressesOf = resolve ?? (allowPrivate ? resolveLocally : resolvePublicly());
  const checkedAddressesOf = async (hostname: string): Promise<LookupAddress[]> => {
    let addresses: readonly LookupAddress[];
    try {
      addresses = await addressesOf(hostname);
    } catch (error) {
      throw new ResolutionFailed(hostname, error);
    }
    const forbidden = allowPrivate ? undefined : addresses.find(({ address }) => !isPublicAddress(address));
    if (forbidden !== undefined) {
      onForbidden?.({ hostname, address: forbidden.address });
      throw new ForbiddenAddress(hostname, 'has an address that is not public', true);
    }
    return [...addresses];
  };
  const lookup: LookupFunction = (hostname, options, callback) => {
    checkedAddressesOf(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all === true) callback(null, addresses);
        else if (first === undefined) callback(new ResolutionFailed(hostname, undefined), '');
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, ''),
    );
  };
  const connect = buildConnector({ ...tls, allowH2: false, timeout: timeoutMs, lookup });
  return (options, callback) => {
    const host = withoutBrackets(options.hostname);
    if (!allowPrivate) {
      if (options.protocol !== 'https:')
        return callback(new ForbiddenAddress(host, 'must be requested over TLS'), null);
      // `lookup` is not called for literal addresses.
      if (isIP(host) !== 0 && !isPublicAddress(host))
        return callback(new ForbiddenAddress(host, 'is not a public address'), null);
    }
    connect(options, callback);
  };
}

/** An undici dispatcher that reaches only public addresses, for fetching URLs that clients name. */
export const guardedAgent = (options: GuardOptions): Agent => new Agent({ connect: guardedConnector(options) });

/** Resolves names as the machine does, `/etc/hosts` included. */
const resolveLocally: Resolve = (hostname) => dns.lookup(hostname, { all: true });

/**
 * Queries the name servers directly. `dns.lookup` uses four threads shared by the whole process, so a few unresolvable receivers
 * would block all others.
 */
function resolvePublicly(): Resolve {
  const resolver = new dns.Resolver({ timeout: 2_000, tries: 2 });
  return async (hostname) => {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = [
      ...(ipv4.status === 'fulfilled' ? ipv4.value.map((address) => ({ address, family: 4 })) : []),
      ...(ipv6.status === 'fulfilled' ? ipv6.value.map((address) => ({ address, family: 6 })) : []),
    ];
    if (addresses.length === 0) throw ipv4.status === 'rejected' ? ipv4.reason : new Error('No addresses');
    return addresses;
  };
}
