import { readFileSync } from 'node:fs';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { AMENITIES } from '../../src/domain/description.ts';
import { assetUrl, registerAssets, SCRIPTS, STYLES } from '../../src/html/assets.ts';
import { html } from '../../src/html/html.ts';
import { page, pageHeaders } from '../../src/html/layout.ts';

const asset = (name: string) => readFileSync(new URL(`../../src/html/assets/${name}`, import.meta.url), 'utf8');

test('the sprite contains exactly the icons that pages can use', () => {
  const drawn = [...asset('icons.svg').matchAll(/<symbol id="([^"]+)"/g)].map(([, id]) => id);
  const source = readFileSync(new URL('../../src/html/layout.ts', import.meta.url), 'utf8');
  const named = [...(/const ICONS = \[([^\]]+)\]/.exec(source)?.[1] ?? '').matchAll(/'([^']+)'/g)].map(([, id]) => id);
  expect(named.length).toBeGreaterThan(10);
  expect(drawn.toSorted()).toEqual(named.toSorted());
});

test('each amenity has an icon', () => {
  const drawn = [...asset('amenities.svg').matchAll(/<symbol id="([^"]+)"/g)].map(([, id]) => id);
  expect(drawn.toSorted()).toEqual(AMENITIES.toSorted());
});

test('titles and flash messages are displayed as text', () => {
  const text = page({ title: '<i>', main: html`<h1>${'<b>'}</h1>`, flash: [{ kind: 'problem', text: '<script>' }] });
  expect(text).toContain('<title>&lt;i&gt; · Venue Booking</title>');
  expect(text).toContain('&lt;script&gt;');
  expect(text).not.toContain('<script>');
});

test('pages contain no inline style or script, and the policy allows none', () => {
  const text = page({ title: 'x', main: html`<h1>x</h1>` });
  expect(text).not.toMatch(/<style|style="|<script(?! src=)|\son\w+="/);
  const policy = pageHeaders()['content-security-policy'];
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain('unsafe');
});

test('assets are immutable under a URL that changes with their content', async () => {
  const app = Fastify();
  await registerAssets(app);
  for (const name of [...STYLES, ...SCRIPTS, 'icons.svg', 'amenities.svg', 'rooms.svg', 'favicon.svg'] as const) {
    const answer = await app.inject(assetUrl(name));
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': expect.stringMatching(/^(text\/css|application\/javascript|image\/svg\+xml)\b/),
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    });
    expect(answer.body).toBe(asset(name));
    for (const [encoding, unpack] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const packed = await app.inject({ url: assetUrl(name), headers: { 'accept-encoding': `${encoding}, zstd` } });
      const content = packed.headers['content-encoding'] === encoding ? unpack(packed.rawPayload) : packed.rawPayload;
      expect(content.toString()).toBe(asset(name));
    }
  }
  const refused = await app.inject({
    url: assetUrl('parts.css'),
    headers: { 'accept-encoding': 'br;q=0, gzip;q=0.0' },
  });
  expect(refused.headers['content-encoding']).toBeUndefined();
  for (const [accepted, encoding] of [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip, br;q=0.5', 'gzip'],
  ]) {
    const taken = await app.inject({ url: assetUrl('parts.css'), headers: { 'accept-encoding': accepted } });
    expect(taken.headers['content-encoding']).toBe(encoding);
    expect(taken.rawPayload.length).toBeLessThan(10_000);
  }
  for (const other of ['', '/', '/../assets.ts', '/%2e%2e/assets.ts', '/..%2fassets.ts', '//parts.css', '/%00'])
    expect((await app.inject(`/assets${other}`)).statusCode, other).toBe(404);
  await app.close();
});
