import { inflateSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { brandId, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { TestApp } from '../authorization-server/test-app.ts';
import { BROWSERS } from '../browsers/browsers.ts';
import { click, fill, reachOf, SIZES, waitUntil } from '../browsers/controls.ts';
import { signInOn, signIn as signInTo, signOut as signOutOf, type User } from '../browsers/sign-in.ts';
import { KEYS, type RunningBrowser, type Tab } from '../browsers/tab.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import type { Running } from './console.fixture.ts';
import { startBusyPages } from './pages.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;

let running: Running;
/** Each booking is on a day of its own. */
let days = 60;
beforeAll(async () => {
  ({ running } = await startBusyPages());
});
afterAll(() => running.stop());

for (const { tool, start } of BROWSERS)
  describe.skipIf(lacks(tool))(`in ${tool.name}`, { timeout: 300_000 }, () => testIn(tool.name, start));

function testIn(name: string, start: () => Promise<RunningBrowser>): void {
  let browser: RunningBrowser;
  let tab: Tab;
  let isOpen = false;
  beforeEach(async () => {
    if (isOpen) return;
    browser = await start();
    tab = await browser.newTab();
    isOpen = true;
  });
  async function close(): Promise<void> {
    if (isOpen) await browser.close();
    isOpen = false;
  }
  // After a failure the browser may still be busy with a page, which the next test must not find.
  afterEach(({ task }) => (task.result?.state === 'fail' ? close() : undefined));
  afterAll(close);

  const open = (path: string, inTab = tab) => inTab.open(`${running.url}${path}`);
  const signIn = (user: User) => signInTo(tab, running.url, user);
  const signOut = () => signOutOf(tab, running.url);

  test.each(SIZES)('a brand books and a community decides, at %i × %i', async (width, height) => {
    const [harbour] = running.demo.communities;
    const [northwind] = running.demo.brands;
    days += 1;
    const date = inDays(days);
    await tab.resize(width, height);
    await signIn(northwind.user);
    await open(`/console/find/1?date=${date}`);
    await click(tab, '15:00 to');
    await fill(tab, 'Message to the community', 'A tasting.');
    await click(tab, 'Request booking');
    await waitUntil(tab, `document.querySelector('.flash')?.textContent.includes('Request sent.')`);
    const [, id] = /(\d+)$/.exec(await tab.evaluate<string>('location.pathname')) ?? [];
    await signOut();

    await tab.resize(width, height);
    await signIn(harbour.user);
    await open(`/console/bookings/${id}`);
    await click(tab, 'Approve');
    await waitUntil(tab, `document.querySelector('.is-approved')`);
    await signOut();
  });

  // WebKit's driver answers no command after the page has gone back to an address that redirects to the sign-in page, and cannot print.
  const testWithFullDriver = name === 'WebKit' ? undefined : test;
  testWithFullDriver?.(
    'each of two tabs signs in to its own page; going back after signing out shows neither',
    async () => {
      const [harbour] = running.demo.communities;
      const other = await browser.newTab();
      await other.resize(1440, 900);
      await tab.resize(1440, 900);
      await open('/console/spaces');
      await open('/console/reviews', other);
      await signInOn(tab, harbour.user);
      await waitUntil(tab, `location.pathname === '/console/spaces' && document.querySelector('.rail')`);
      await signInOn(other, harbour.user);
      await waitUntil(other, `location.pathname === '/console/reviews' && document.querySelector('.rail')`);
      await click(tab, 'Sign out');
      await waitUntil(tab, `document.querySelector('h1').textContent === 'You are signed out'`);
      await tab.back();
      await waitUntil(tab, `document.querySelector('#email')`);
    },
  );

  test('the inbox takes its keys, and explains them in a small window', async () => {
    const [harbour] = running.demo.communities;
    days += 1;
    const details = { spaceId: spaceId(1), date: inDays(days), startHour: 10 };
    const { bookings } = running.service.core.commands;
    const { bookingId } = accepted(await bookings.request({ brandId: brandId(1), details }, CONTEXT));
    await tab.resize(1440, 900);
    await signIn(harbour.user);
    await open(`/console/inbox?from=${details.date}&to=${details.date}`);
    await click(tab, 'Keys…');
    const height = await tab.evaluate<number>(`document.querySelector('#key-help').offsetHeight`);
    expect(height).toBeLessThan(600);
    await tab.type(KEYS.escape);

    const row = `#request-${bookingId}`;
    await click(tab, 'Decline…', row);
    await waitUntil(tab, `document.activeElement.name === 'reason'`);
    const [reason = ''] = await tab.evaluate<string[]>(
      `[...document.querySelectorAll('#reasons option')].map((one) => one.value)`,
    );
    await tab.type(`${reason.slice(0, 3)}${KEYS.enter}`);
    // In Safari the first one closes the suggestions.
    if (name === 'WebKit') await tab.type(KEYS.enter);
    await waitUntil(tab, `document.querySelector('${row}').textContent.includes('Declined by you')`);
    await signOut();
  });

  test('a click selects a new key; a day from the calendar gets a time', async () => {
    const [harbour] = running.demo.communities;
    await tab.resize(1440, 900);
    await signIn(harbour.user);
    await open('/console/keys');
    await fill(tab, 'Name', 'Door display');
    await click(tab, 'View bookings');
    await click(tab, 'Create key');
    await waitUntil(tab, `document.querySelector('.secret code')`);
    const { x, y } = await tab.evaluate<{ x: number; y: number }>(
      `(({ x, y, height }) => ({ x: Math.round(x + 60), y: Math.round(y + height / 2) }))(document.querySelector('.secret code').getBoundingClientRect())`,
    );
    await tab.clickAt(x, y);
    expect(await tab.evaluate('getSelection().toString().trim()')).toMatch(/^vbs_live_\w+$/);

    await open('/console/bookings/3');
    await click(tab, 'View at an earlier time: choose');
    await waitUntil(tab, `document.querySelector('.native')`);
    await tab.evaluate(`(() => {
      const native = document.querySelector('.native');
      native.value = '2026-11-20';
      native.dispatchEvent(new Event('change'));
    })()`);
    expect(await tab.evaluate(`document.querySelector('#at').value`)).toBe('Fri 20 Nov 2026, 00:00');
    await signOut();
  });

  test('a page that an app with a scheme of its own leaves open says so', async () => {
    const [northwind] = running.demo.brands;
    const redirect = 'com.example.unheard:/callback';
    const app = await TestApp.register(running.url, { client_name: 'Unheard', redirect_uris: [redirect] });
    // In a tab of its own, because Chromium waits there for an answer about the unknown scheme, and takes no click.
    const page = name === 'Chromium' ? await browser.newTab() : tab;
    await page.resize(390, 844);
    await page.open((await app.authorizationUrl({ redirect_uri: redirect })).url.href);
    await signInOn(page, northwind.user);
    await waitUntil(page, `document.querySelector('h1').textContent === 'Allow this app?'`);
    const reach = await reachOf(page);
    expect({ ...reach, count: reach.count > 0 }).toEqual({ count: true, outOfReach: [] });
    // WebKit's driver answers no command once the page has asked for an unknown scheme. So there the form is not sent.
    if (name === 'WebKit')
      await page.evaluate(`(document.addEventListener('submit', (event) => event.preventDefault()), 1)`);
    await click(page, 'Allow');
    await waitUntil(page, `document.querySelector('[data-left]').checkVisibility()`);
    expect(await page.evaluate(`document.querySelector('[data-left]').textContent`)).toContain(
      'You can go back to the app',
    );
    expect(
      await page.evaluate(`[...document.querySelectorAll('button')].filter((one) => one.checkVisibility()).length`),
    ).toBe(0);
    await signOut();
  });

  testWithFullDriver?.('a list is printed from the first page on, with the headings on each', async () => {
    const [harbour] = running.demo.communities;
    await tab.resize(1440, 900);
    await signIn(harbour.user);
    await open('/console/bookings');
    const pdf = await tab.print();
    await signOut();
    if (pdf === undefined) return;
    const [first = [], second = [], ...further] = textsOf(pdf);
    expect(first.length).toBeGreaterThan(second.length / 2);
    for (const page of [second, ...further]) expect(first.join()).toContain(page.slice(0, 3).join());
  });
}

/** What each page of a PDF shows, in the encoding of the PDF. */
function textsOf(pdf: Buffer): string[][] {
  const contents = [...pdf.toString('latin1').matchAll(/\bstream\r?\n(.*?)endstream/gs)].map(([, bytes = '']) => {
    try {
      return inflateSync(Buffer.from(bytes, 'latin1')).toString('latin1');
    } catch {
      // Not compressed text, such as an image.
      return '';
    }
  });
  return contents
    .map((content) => [...content.matchAll(/(?:\[[^\]]*\]|\([^)]*\)|<[^>]*>)\s*TJ?j?\b/g)].map(([text]) => text))
    .filter(({ length }) => length > 0);
}
