import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERROR_STATUS } from '../../src/contract/schemas/errors.ts';
import { RECORDED_AT, readExamples } from '../../src/description/examples.ts';
import { OPERATIONS } from '../../src/description/operations.ts';
import { CHROMIUM, launchChromium, openWindow, type Screen, violationsOn } from '../console/chromium.ts';
import { lacks } from '../lacks.ts';
import { type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let page: string;
/** The text of the page, without markup. */
let text: string;

beforeAll(async () => {
  service = await runService();
  const answer = await service.call('GET', '/docs');
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  page = answer.body;
  text = plain(page);
});
afterAll(() => service.stop());

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
const plain = (markup: string): string =>
  markup
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '')
    .replaceAll(/\s+/g, ' ');

test('documents every operation with real examples of its bodies and errors', () => {
  const { operations } = readExamples();
  const squeezed = text.replaceAll(' ', '');
  for (const [operationId, { summary }] of Object.entries(OPERATIONS)) {
    expect(page).toContain(`id="operation/${operationId}"`);
    expect(text).toContain(summary);
    const { requests = {}, responses = {} } = operations[operationId] ?? {};
    for (const { value } of [requests, ...Object.values(responses)].flatMap((named) => Object.values(named)))
      expect(squeezed, operationId).toContain(JSON.stringify(value).replaceAll(' ', ''));
  }
  for (const code of Object.keys(ERROR_STATUS)) expect(squeezed).toContain(`{"error":"${code}"`);
});

test('documents webhooks with their headers and bodies, OAuth, MCP and the schemas', () => {
  const { deliveries } = readExamples();
  for (const [event, { headers, body }] of Object.entries(deliveries)) {
    expect(page).toContain(`id="delivery/${event}"`);
    expect(text).toContain(body);
    expect(text).toContain(`X-Service-Signature: ${headers['x-service-signature']}`);
  }
  const { exchanges } = readExamples();
  const squeezed = text.replaceAll(' ', '');
  expect(Object.keys(exchanges)).toEqual(['tokenAnswer', 'tokenRefusal', 'mcpChallenge', 'mcpCall', 'mcpResult']);
  for (const said of Object.values(exchanges))
    expect(squeezed).toContain(
      (typeof said === 'string' ? said : JSON.stringify(said))
        .replaceAll(' ', '')
        .replaceAll(RECORDED_AT, 'http://localhost:3000'),
    );
  expect(text).toMatch(/Authentication .* authorization code with PKCE .* resource=api/);
  expect(text).toMatch(/Assistants \(MCP\) .*\/mcp.* \(Streamable HTTP\)/);
  for (const name of ['BookingDto', 'WebhookCreatedDto', 'Error']) expect(page).toContain(`id="schema/${name}"`);
});

test('is served with a trailing slash too', async () => {
  const answer = await service.call('GET', '/docs/');
  expect([answer.statusCode, answer.headers.location]).toEqual([302, '/docs']);
});

test('every link within the page has a target', () => {
  const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
  expect(links.length).toBeGreaterThan(30);
  expect(links.filter((id) => !ids.has(id))).toEqual([]);
  const all = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(all.filter((id, index) => all.indexOf(id) !== index)).toEqual([]);
});

test('is small and needs no JavaScript', async () => {
  expect(Buffer.byteLength(page)).toBeLessThan(150_000);
  expect(page).not.toMatch(/<script/);
  const packed = await service.call('GET', '/docs', { headers: { 'accept-encoding': 'gzip' } });
  expect(packed.rawPayload.byteLength).toBeLessThan(30_000);
});

describe.skipIf(lacks(CHROMIUM))('in Chromium', { timeout: 60_000 }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
    await service.app.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(() => browser.close());

  const screens: readonly Screen[] = [
    { width: 1280, colorScheme: 'light', script: true },
    { width: 390, colorScheme: 'dark', script: true },
  ];
  test.each(screens)('is accessible and fits: $width px, $colorScheme', async (screen) => {
    const { port } = service.app.server.address() as AddressInfo;
    const { context, page, complaints } = await openWindow(browser, `http://127.0.0.1:${port}`, screen);
    await page.goto('/docs');
    expect(await violationsOn(page)).toEqual([]);
    await page.evaluate(`for (const details of document.querySelectorAll('details')) details.open = true`);
    expect(await violationsOn(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(screen.width);
    if (process.env.SCREENSHOTS)
      await page.screenshot({ path: `${process.env.SCREENSHOTS}/docs-${screen.width}.png`, fullPage: true });
    expect(complaints).toEqual([]);
    await context.close();
  });
});
