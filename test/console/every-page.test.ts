import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lacks } from '../lacks.ts';
import { CHROMIUM, launchChromium, openWindow, sharedNamesOn, signInOnce, tooWide, wrongOn } from './chromium.ts';
import type { Running } from './console.fixture.ts';
import { type PageOf, READERS, SEE_ALL, startBusyPages } from './pages.ts';
import { searchSelectors } from './selectors.ts';

/** In pixels, from the smallest phone to a wide screen. No page may overflow at any of them. */
const WIDTHS = [320, 390, 768, 1024, 1280, 1920] as const;
/** The widths at which axe checks what `SEE_ALL` see, which takes most of the time. `npm run screenshots -- --busy` checks every width in both schemes. */
const AXE: Readonly<Record<number, 'light' | 'dark'>> = { 320: 'light', 1280: 'dark' };
/** Parts of selectors, by the states that show them, which these visits do not reach. */
const OTHER_STATES: Readonly<Record<string, readonly string[]>> = {
  'a user of several accounts': ['.account details', '.account .switch'],
  'a message of a script': ['.toast', '.live-notice', '.notices'],
  'a secret that was just made': ['.secret'],
  'the calendar of the browser beside a field': ['.native'],
  'an app that is connected, or asks for it': ['.given', '.claims'],
  'a request that was just answered, or needs a confirmation': ['.decided', 'p:first-child', '.to-approve'],
  'few spaces, or one whose events end at half hours': ['.ruler', '.halves'],
  'a sheet at the door': ['.door'],
  'photos that are being sent': ['.uploads progress', '.dragged'],
  'bookings in several time zones': ['.zone'],
  'own events, and what is in their way': ['.own > .why', '[name="booking"]'],
  'days without bookings, and the hour that it is now': ['.free:not(.today)', '.now', 'th[aria-current]'],
  'a start time that is chosen or held': ['.slot:', '.hour[aria-current]'],
  'a cancelled booking, and one as of a moment': ['.timeline .is-cancelled', '.timeline .later'],
  'a room without photos on a public page': ['.public > main > .cover'],
  'deliveries on their way, with headers, or of several webhooks': ['.sentence', '.request) dt', '.request', '.where'],
};
/** Bytes of uncompressed HTML. */
const MAX_BYTES = 60_000;

describe.skipIf(lacks(CHROMIUM))('every page with a busy store', { timeout: 300_000 }, () => {
  let running: Running;
  let browser: Browser;
  let pages: readonly PageOf[];
  const selectors = searchSelectors();
  beforeAll(async () => {
    [{ running, pages }, browser] = await Promise.all([startBusyPages(), launchChromium()]);
  });
  afterAll(async () => {
    await browser.close();
    await running.stop();
  });

  test.each(READERS)('as seen by %s', async (who) => {
    const signedIn = signInOnce(running.url);
    const theirs = pages.filter((one) => one.who === who);
    const user = theirs[0]?.user;
    const screen = { width: 1280, colorScheme: 'light', script: true } as const;
    const cookies = user === undefined ? [] : await signedIn(user);
    const { context, page, complaints } = await openWindow(browser, running.url, screen, cookies);
    const found: string[] = [];
    for (const { name, path } of theirs) {
      const response = await page.goto(path);
      const size = ((await response?.body()) ?? Buffer.alloc(0)).length;
      if (size > MAX_BYTES) found.push(`${name}: ${size} bytes of HTML`);
      for (const width of WIDTHS) {
        const colorScheme = SEE_ALL.includes(who) ? AXE[width] : undefined;
        await page.setViewportSize({ width, height: 900 });
        if (colorScheme !== undefined) await page.emulateMedia({ colorScheme });
        const wrong = await (colorScheme === undefined ? tooWide(page) : wrongOn(page));
        for (const each of wrong) found.push(`${name}, ${width} px, ${colorScheme}: ${each}`);
      }
      await selectors.look(page);
      for (const shared of await sharedNamesOn(page)) found.push(`${name}: several buttons are called ${shared}`);
      for (const complaint of complaints.splice(0)) found.push(`${name}: ${complaint}`);
    }
    await context.close();
    expect(found).toEqual([]);
  });

  test('each selector of our stylesheets has an element on a page, or in a state that is listed', async () => {
    const screen = { width: 1280, colorScheme: 'light', script: true } as const;
    const { context, page } = await openWindow(browser, running.url, screen);
    await page.goto('/docs');
    await selectors.look(page);
    await context.close();
    const unmatched = selectors.unmatched();
    const states = Object.values(OTHER_STATES).flat();
    expect(unmatched.filter((selector) => !states.some((part) => selector.includes(part)))).toEqual([]);
    expect(states.filter((part) => !unmatched.some((selector) => selector.includes(part)))).toEqual([]);
  });
});
