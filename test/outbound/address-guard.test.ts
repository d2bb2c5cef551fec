import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { guardedAgent } from '../../src/outbound/address-guard.ts';
import { checkWebhookUrl, isPublicAddress } from '../../src/outbound/public-address.ts';

const FORBIDDEN = [
  ['0.0.0.0', 'this network'],
  ['10.0.0.1', 'private'],
  ['10.255.255.255', 'private, last'],
  ['100.64.0.1', 'carrier-grade NAT'],
  ['100.127.255.255', 'carrier-grade NAT, last'],
  ['127.0.0.1', 'loopback'],
  ['127.255.0.9', 'loopback'],
  ['169.254.169.254', 'metadata service'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private, last'],
  ['192.0.0.8', 'protocol assignments'],
  ['192.0.2.1', 'documentation'],
  ['192.168.1.1', 'private'],
  ['198.18.0.1', 'benchmarking'],
  ['198.19.255.255', 'benchmarking, last'],
  ['198.51.100.7', 'documentation'],
  ['203.0.113.7', 'documentation'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['::127.0.0.1', 'IPv4-compatible'],
  ['::8.8.8.8', 'IPv4-compatible, deprecated'],
  ['::ffff:127.0.0.1', 'IPv4-mapped'],
  ['::ffff:a9fe:a9fe', 'IPv4-mapped metadata service'],
  ['0:0:0:0:0:ffff:0a00:0001', 'IPv4-mapped, written out'],
  ['64:ff9b::10.0.0.1', 'NAT64 of private'],
  ['64:ff9b::7f00:1', 'NAT64 of loopback'],
  ['64:ff9b:1::1', 'local NAT64'],
  ['100::1', 'discard'],
  ['2001::1', 'Teredo'],
  ['2001:2::1', 'benchmarking'],
  ['2001:db8::1', 'documentation'],
  ['2002:7f00:1::1', '6to4 of loopback'],
  ['2002:c0a8:101::', '6to4 of private'],
  ['2002:a9fe:a9fe::1', '6to4 of link-local'],
  ['3fff::1', 'documentation'],
  ['5f00::1', 'segment routing'],
  ['fc00::1', 'unique local'],
  ['fd00:ec2::254', 'metadata service'],
  ['fe80::1', 'link-local'],
  ['fe80::1%eth0', 'link-local with a zone'],
  ['2606:4700::1111%eth0', 'public with a zone'],
  ['fec0::1', 'site-local'],
  ['ff02::1', 'multicast'],
  ['', 'nothing'],
  ['example.com', 'a name'],
  ['0177.0.0.1', 'octal'],
  ['2130706433', 'decimal'],
] as const;

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
  '2002:808:808::1',
  '2001:4860:4860::8888',
  '2606:4700:4700::1111',
  '2a00:1450:4001:81b::200e',
];

test.each(FORBIDDEN)('%s is not public (%s)', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each(PUBLIC)('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  'https://hooks.example.com/bookings',
  'https://example.com:8443/a?b=c',
  'https://8.8.8.8/',
  'https://[2606:4700:4700::1111]/',
  'https://bücher.example/haken',
  'https://example.com./',
])('%s can be registered', (url) => {
  expect(checkWebhookUrl(url, { allowPrivate: false })).toBeUndefined();
});

test.each([
  ['', 'absolute URL'],
  ['/hook', 'absolute URL'],
  ['example.com/hook', 'absolute URL'],
  ['http://example.com/', 'https'],
  ['ftp://example.com/', 'https'],
  ['javascript:alert(1)', 'https'],
  ['file:///etc/passwd', 'https'],
  ['https://user:secret@example.com/', 'user name'],
  ['https://user@example.com/', 'user name'],
  ['https://localhost/', 'publicly reachable'],
  ['https://LOCALHOST./', 'publicly reachable'],
  ['https://api.localhost/', 'publicly reachable'],
  ['https://db.internal/', 'publicly reachable'],
  ['https://printer.local/', 'publicly reachable'],
  ['https://intranet/', 'publicly reachable'],
  ['https://127.0.0.1/', 'publicly reachable'],
  ['https://127.0.0.1./', 'publicly reachable'],
  ['https://127.1/', 'publicly reachable'],
  ['https://0177.0.0.1/', 'publicly reachable'],
  ['https://2130706433/', 'publicly reachable'],
  ['https://0x7f000001/', 'publicly reachable'],
  ['https://１２７.0.0.1/', 'publicly reachable'],
  ['https://169.254.169.254/latest/meta-data', 'publicly reachable'],
  ['https://[::1]/', 'publicly reachable'],
  ['https://[::ffff:10.0.0.1]/', 'publicly reachable'],
  ['https://[fe80::1%25eth0]/', 'absolute URL'],
])('%s cannot be registered: %s', (url, problem) => {
  expect(checkWebhookUrl(url, { allowPrivate: false })).toContain(problem);
});

test.each([
  ['a blank before', ' https://example.com/hook', 'https://example.com/hook'],
  ['a blank after', 'https://example.com/hook ', 'https://example.com/hook'],
  ['a blank within', 'https://example.com/my hook', 'https://example.com/my%20hook'],
  ['a line feed', 'https://example.com/\nhook', 'https://example.com/hook'],
  ['a tab', 'https://exam\tple.com/', 'https://example.com/'],
  ['no slashes', 'https:example.com', 'https://example.com/'],
  ['one slash', 'https:/example.com', 'https://example.com/'],
  ['three slashes', 'https:///example.com', 'https://example.com/'],
  ['backslashes', 'https:\\\\example.com\\hook', 'https://example.com/hook'],
  ['a backslash after the host', 'https://example.com\\@evil.example/', 'https://example.com/@evil.example/'],
  ['NUL', 'https://example.com/a\u0000b', 'https://example.com/a%00b'],
  ['half of a surrogate pair', 'https://example.com/\ud800', 'https://example.com/%EF%BF%BD'],
  ['broken percent-encoding', 'https://example.com/%zz', undefined],
  ['brackets outside the host', 'https://example.com/[1]', undefined],
])('%s makes no valid URL, for private receivers neither: %j', (_, url, instead) => {
  for (const allowPrivate of [false, true]) {
    const problem = checkWebhookUrl(url, { allowPrivate });
    expect(problem).toMatch(/valid URL/);
    if (instead === undefined) expect(problem).toContain('percent-encode');
    else expect(problem).toContain(`write ${instead}`);
  }
});

test.each([
  'https://example.com',
  'HTTPS://Example.COM:8443/a/b;c=1,2/(d)?x=%C3%A9&y=1#top',
  'https://[2606:4700::1111]:8443/hook',
  'https://bücher.example.com/été?größe=1#ende',
  "https://example.com/~me/!$&'()*+,;=:@/",
])('%s is one', (url) => expect(checkWebhookUrl(url, { allowPrivate: false })).toBeUndefined());

test('WEBHOOKS_ALLOW_PRIVATE allows http and private addresses, nothing else', () => {
  for (const url of ['http://localhost:8080/', 'http://127.0.0.1:9/', 'https://10.0.0.1/', 'https://intranet/'])
    expect(checkWebhookUrl(url, { allowPrivate: true })).toBeUndefined();
  expect(checkWebhookUrl('ftp://localhost/', { allowPrivate: true })).toContain('https');
  expect(checkWebhookUrl('http://a:b@localhost/', { allowPrivate: true })).toContain('user name');
});

let server: Server;
let port: number;
let reached = 0;
beforeAll(async () => {
  server = createServer((_, response) => {
    reached += 1;
    response.end('inside');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());

const fetchGuarded = async (url: string, addresses: readonly string[] = [], allowPrivate = false) => {
  let resolutions = 0;
  const dispatcher = guardedAgent({
    allowPrivate,
    resolve: async () => {
      resolutions += 1;
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
  });
  try {
    const { body } = await request(url, { dispatcher });
    return { answer: await body.text(), resolutions };
  } catch (error) {
    return { error: error instanceof Error ? error.name : '', resolutions };
  } finally {
    await dispatcher.destroy();
  }
};

test.each([
  ['a private address', ['10.1.2.3']],
  ['one private address among public ones', ['93.184.216.34', '8.8.8.8', '127.0.0.1']],
  ['an IPv4-mapped loopback address', ['::ffff:127.0.0.1']],
])('a name that resolves to %s is refused before anything connects', async (_, addresses) => {
  reached = 0;
  expect(await fetchGuarded(`https://rebind.example:${port}/`, addresses)).toEqual({
    error: 'ForbiddenAddress',
    resolutions: 1,
  });
  expect(reached).toBe(0);
});

test.each(['https://127.0.0.1', 'https://[::1]', 'https://0x7f.1', 'https://127.0.0.1.'])(
  '%s is refused even though literal addresses are never looked up',
  async (origin) => {
    expect(await fetchGuarded(`${origin}:${port}/`)).toEqual({ error: 'ForbiddenAddress', resolutions: 0 });
  },
);

test('http is refused even for a public name', async () => {
  expect(await fetchGuarded(`http://example.com:${port}/`, ['8.8.8.8'])).toEqual({
    error: 'ForbiddenAddress',
    resolutions: 0,
  });
});

test('a name that does not resolve fails with ResolutionFailed', async () => {
  const dispatcher = guardedAgent({
    allowPrivate: false,
    resolve: () => Promise.reject(new Error('ENOTFOUND')),
  });
  await expect(request('https://nowhere.example/', { dispatcher })).rejects.toMatchObject({ name: 'ResolutionFailed' });
  await dispatcher.destroy();
});

test('the addresses that are checked are those connected to, with no second resolution to rebind', async () => {
  expect(await fetchGuarded(`http://receiver.example:${port}/`, ['127.0.0.1'], true)).toEqual({
    answer: 'inside',
    resolutions: 1,
  });
});
