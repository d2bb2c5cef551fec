import { isIPv6 } from 'node:net';

/** An IPv4 address, or the /64 prefix of an IPv6 address: a subscriber gets a whole /64. */
export function networkOf(address: string): string {
  const groups = groupsOf(address);
  return typeof groups === 'string' ? groups : groups.slice(0, 4).join(':');
}

/** The block that an address is from, /24 of IPv4 and /48 of IPv6: who has one address of a block may have all of them. */
export function blockOf(address: string): string {
  const groups = groupsOf(address);
  return typeof groups === 'string' ? groups.split('.').slice(0, 3).join('.') : groups.slice(0, 3).join(':');
}

/** An IPv4 address, or the eight groups of an IPv6 address. */
function groupsOf(address: string): string | readonly string[] {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return plain;
  // The URL parser writes every form of an address in the same way, an embedded IPv4 address included.
  const [head = '', tail] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::');
  const [before, after] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const groups = [
    ...(before ?? []),
    ...Array(8 - (before?.length ?? 0) - (after?.length ?? 0)).fill('0'),
    ...(after ?? []),
  ];
  if (groups.slice(0, 6).join(':') !== '0:0:0:0:0:ffff') return groups;
  const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
