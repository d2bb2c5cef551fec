import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM, openWindow, type Screen, violationsOn } from '../console/chromium.ts';
import { useDemoInChromium } from '../console/demo-in-chromium.ts';
import { lacks } from '../lacks.ts';
import { TestApp } from './test-app.ts';

/** The sign-in and consent pages in a real browser, for apps with misleading names and addresses. */

const HOSTILE = [
  ['a name that turns the line round', 'gro.liam \u202e moc.eugnev', 'http://127.0.0.1:9/callback'],
  [
    'a name that talks into our sentence, and a long address',
    'Calendar, verified by Venue Booking. It sends you back to venue.example 🎉',
    `https://venue.example.${'login-session.'.repeat(12)}evil.example:8443/cb`,
  ],
  ['a pile of accents', `Z${'\u0301\u0302\u0303\u0304\u0305\u0306'.repeat(25)}algo`, 'com.example.app:/cb'],
  ['a name without a blank', 'W'.repeat(200), 'https://xn--pple-43d.com/cb'],
  ['a name that is written from right to left', 'تطبيق حجز القاعات والمساحات 12', 'https://app.example/cb'],
  ['no name', undefined, 'http://[::1]:9/callback'],
] as const;

const WIDE: Screen = { width: 1280, colorScheme: 'light', script: true };
const PHONE: Screen = { width: 390, colorScheme: 'dark', script: true };

/** Whether the letters of an element run from left to right. Runs in the page. */
const LEFT_TO_RIGHT = `(element) => {
  const letters = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    for (let at = 0; at < node.length; at += 1) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const { left, top, width } = range.getBoundingClientRect();
      if (width > 0) letters.push({ left, top });
    }
  return letters.every((one, at) => at === 0 || one.top > letters[at - 1].top + 4 || one.left >= letters[at - 1].left);
}`;

/** Our own text and addresses that are displayed in another order than written. */
const TURNED_ROUND = `[...document.querySelectorAll('h1, p, li, button, label, .claims dt, .claims .host')]
  .filter((element) => !(${LEFT_TO_RIGHT})(element)).map(({ textContent }) => textContent)`;
/** Names whose ink may reach outside. */
const NOT_CLIPPED = `[...document.querySelectorAll('.given')]
  .filter((element) => getComputedStyle(element).overflow !== 'clip').map(({ textContent }) => textContent)`;

describe.skipIf(lacks(CHROMIUM))('in Chromium', { timeout: 120_000 }, () => {
  const started = useDemoInChromium();
  let app: TestApp;
  /** Checks every hostile client, signed out before each. */
  let window: Awaited<ReturnType<typeof openWindow>>;
  beforeAll(async () => {
    app = await TestApp.register(started.running.url);
    window = await openWindow(started.browser, started.running.url, WIDE);
  });

  test.each(HOSTILE)('%s cannot mislead the user on a wide screen or a phone', async (_what, name, redirect) => {
    const [{ user }] = started.running.demo.brands;
    const clientId = `old-${randomBytes(6).toString('hex')}`;
    // As registered before names were checked.
    await started.running.service.core.authorizationServer.clients.adapter.upsert(
      clientId,
      {
        client_id: clientId,
        ...(name !== undefined && { client_name: name }),
        redirect_uris: [redirect],
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        application_type: redirect.startsWith('https:') ? 'web' : 'native',
      },
      0,
    );
    const request = { client_id: clientId, redirect_uri: redirect, resource: 'mcp', scope: 'service.mcp' };
    const { url } = await app.authorizationUrl(request);
    const { context, page, complaints } = window;
    await context.clearCookies();

    async function look() {
      for (const { width, colorScheme } of [WIDE, PHONE]) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme });
        expect(await violationsOn(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
        // Our own text and the address are displayed in the order in which they are written.
        expect(await page.evaluate(TURNED_ROUND)).toEqual([]);
        expect(await page.evaluate(NOT_CLIPPED)).toEqual([]);
        if (process.env.SCREENSHOTS)
          await page.screenshot({ path: `${process.env.SCREENSHOTS}/${clientId}-${width}-${await page.title()}.png` });
      }
      expect(await page.title()).not.toContain(name ?? clientId);
    }

    await page.goto(url.href);
    await look();
    await page.getByLabel('E-mail').fill(user.email);
    await page.getByLabel('Password').fill(user.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Allow this app?' }).waitFor();
    await look();
    expect(complaints).toEqual([]);
  });

  test.each([
    ['by the link on a page, at 390 px', 390, { prompt: 'none' }, 'link', 'Continue', 'login_required'],
    ['by the link on a page, at 1440 px', 1440, { prompt: 'none' }, 'link', 'Continue', 'login_required'],
    ['by a redirect after a form', 1440, {}, 'button', 'Cancel', 'access_denied'],
  ] as const)(
    'an app with a private-use scheme gets its response %s',
    async (_how, width, asked, role, name, error) => {
      const redirect = 'cursor://anysphere.cursor-mcp/oauth/callback';
      const app = await TestApp.register(started.running.url, { client_name: 'Cursor', redirect_uris: [redirect] });
      const colorScheme = width === 390 ? 'dark' : 'light';
      const { context, page, complaints } = await openWindow(started.browser, started.running.url, {
        width,
        colorScheme,
        script: true,
      });
      const devTools = await context.newCDPSession(page);
      await devTools.send('Page.enable');
      /** The addresses that the browser opened, by link or redirect. */
      const visited: URL[] = [];
      devTools.on('Page.frameStartedNavigating', ({ url }) => visited.push(new URL(url)));
      page.on('request', (request) => visited.push(new URL(request.url())));
      const answer = () => visited.find(({ protocol }) => protocol === 'cursor:')?.searchParams.get('error');

      await page.goto((await app.authorizationUrl({ redirect_uri: redirect, ...asked })).url.href);
      const way = page.getByRole(role, { name });
      if (role === 'link') expect((await way.getAttribute('href'))?.startsWith(`${redirect}?`)).toBe(true);
      expect(await violationsOn(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      if (process.env.SCREENSHOTS)
        await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}-${width}.png`, fullPage: true });
      await way.click();
      await expect.poll(answer).toBe(error);
      // A redirect blocked by the Content-Security-Policy would be among them.
      expect(complaints).toEqual([]);
      await context.close();
    },
  );
});
