import { BlockList, isIP } from 'node:net';

/** IPv4 blocks that are not the public internet (IANA special-purpose registry). */
const SPECIAL_IPV4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // carrier-grade NAT
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // Azure's platform services, in a public range but local to each machine
  ['169.254.0.0', 16], // link-local, including cloud metadata services
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // IETF protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relay anycast, deprecated
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarking
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
];

/** Blocks within the public IPv6 ones that are not the public internet. */
const SPECIAL_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23], // IETF protocol assignments: Teredo, benchmarking, ORCHID
  ['2001:db8::', 32], // documentation
  ['3fff::', 20], // documentation
];

/**
 * Only these IPv6 blocks can be public: global unicast, NAT64, IPv4-mapped. Everything else is private, local or reserved.
 */
const PUBLIC_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['2000::', 3],
  ['64:ff9b::', 96],
  ['::ffff:0:0', 96],
];

const special = new BlockList();
const publicIpv6 = new BlockList();
for (const [network, prefix] of SPECIAL_IPV4) {
  // BlockList itself matches IPv4-mapped IPv6 addresses (::ffff:a.b.c.d) against IPv4 rules, but not NAT64 and 6to4.
  special.addSubnet(network, prefix, 'ipv4');
  special.addSubnet(`64:ff9b::${network}`, 96 + prefix, 'ipv6');
  const [a = 0, b = 0, c = 0, d = 0] = network.split('.').map(Number);
  special.addSubnet(`2002:${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}::`, 16 + prefix, 'ipv6');
}
for (const [network, prefix] of SPECIAL_IPV6) special.addSubnet(network, prefix, 'ipv6');
for (const [network, prefix] of PUBLIC_IPV6) publicIpv6.addSubnet(network, prefix, 'ipv6');

/**
 * Whether an IP address belongs to the public internet, embedded IPv4 addresses included (docs/decisions/webhook-deliveries.md).
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !special.check(address, 'ipv4');
    case 6: {
      // A zone id refers to an interface of this machine, so the address is not public.
      if (address.includes('%')) return false;
      return publicIpv6.check(address, 'ipv6') && !special.check(address, 'ipv6');
    }
    default:
      return false;
  }
}

const LOCAL_NAME = /(^|\.)(localhost|local|internal|home\.arpa)\.?$/i;

/**
 * Checks a receiver's URL at registration ("publicly reachable", docs/guides/rest-api.md#endpoints). Nothing is resolved here:
 * every delivery checks the addresses it connects to.
 * @returns the problem, phrased to follow "url"; `undefined` if there is none
 */
export function checkWebhookUrl(url: string, { allowPrivate }: { readonly allowPrivate: boolean }): string | undefined {
  const parsed = URL.parse(url);
  if (parsed === null) return 'must be an absolute URL';
  if (parsed.protocol !== 'https:' && !(allowPrivate && parsed.protocol === 'http:')) return 'must be an https URL';
  if (parsed.username !== '' || parsed.password !== '') return 'must not contain a user name or password';
  const unreachable = allowPrivate ? undefined : privateHost(parsed);
  if (unreachable !== undefined) return unreachable;
  // The parser accepts surrounding blanks, line feeds, backslashes and any number of slashes.
  if (isHttpUrl(url)) return undefined;
  return `must be a valid URL (RFC 3986): ${isHttpUrl(parsed.href) ? `write ${parsed.href}` : 'percent-encode what it may not contain'}`;
}

/** Whether a text is strictly a URL: two slashes, a host, and correct percent-encoding. Non-ASCII characters follow RFC 3987. */
const isHttpUrl = (text: string): boolean => {
  const [, host, rest] = /^https?:\/\/([^/?#]+)(.*)$/is.exec(text) ?? [];
  return host !== undefined && rest !== undefined && HOST.test(host) && REST.test(rest);
};

const HOST =
  /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=\u{a0}-\u{d7ff}\u{f900}-\u{fdcf}\u{fdf0}-\u{ffef}\u{10000}-\u{efffd}-]|%[\da-f]{2})+)(?::\d*)?$/iu;
const REST =
  /^(?:[\w.~!$&'()*+,;=:@/?#\u{a0}-\u{d7ff}\u{f900}-\u{fdcf}\u{fdf0}-\u{ffef}\u{10000}-\u{efffd}-]|%[\da-f]{2})*$/iu;

function privateHost(parsed: URL): string | undefined {
  // The URL parser has already normalised octal, decimal, hexadecimal and short IPv4 forms.
  const host = withoutBrackets(parsed.hostname);
  const reachable =
    isIP(host) === 0 ? host.replace(/\.$/, '').includes('.') && !LOCAL_NAME.test(host) : isPublicAddress(host);
  return reachable ? undefined : 'must be publicly reachable: its host is private, local or reserved';
}

/** The host of a URL as an address: IPv6 without its brackets. */
export const withoutBrackets = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1');
