import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BROWSERS } from '../browsers/browsers.ts';
import { click, fill, reachOf, waitUntil } from '../browsers/controls.ts';
import { KEYS, type RunningBrowser, type Tab } from '../browsers/tab.ts';
import { inDays } from '../in-days.ts';
import type { Running } from './console.fixture.ts';
import { type PageOf, startBusyPages } from './pages.ts';

const SIZES = [
  [1440, 900],
  [390, 844],
] as const;

let running: Running;
/** Each booking is on a day of its own. */
let days = 60;
let pages: readonly PageOf[];
beforeAll(async () => {
  ({ running, pages } = await startBusyPages());
});
afterAll(() => running.stop());

describe.each(BROWSERS.filter(({ isThere }) => isThere))('in $name', { timeout: 300_000 }, ({ start }) => {
  let browser: RunningBrowser;
  let tab: Tab;
  beforeAll(async () => {
    browser = await start();
    tab = await browser.newTab();
  });
  afterAll(() => browser.close());

  const open = (path: string) => tab.open(`${running.url}${path}`);

  async function signIn({ email, password }: { readonly email: string; readonly password: string }): Promise<void> {
    await open('/console');
    await fill(tab, 'E-mail', email);
    await fill(tab, 'Password', password);
    await tab.type(KEYS.enter);
    await waitUntil(tab, `location.pathname !== '/console' && document.querySelector('.rail')`);
  }
  async function signOut(): Promise<void> {
    await tab.resize(1440, 900);
    await open('/console');
    await click(tab, 'Sign out');
    await waitUntil(tab, `document.querySelector('h1').textContent === 'You are signed out'`);
  }

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

  test.each(['community', 'brand', 'nobody'] as const)('every control of every page of %s is in reach', async (who) => {
    const theirs = pages.filter((one) => one.who === who);
    const user = theirs[0]?.user;
    await tab.resize(1440, 900);
    if (user !== undefined) await signIn(user);
    const found: string[] = [];
    for (const { name, path } of theirs) {
      await open(path);
      for (const [width, height] of SIZES) {
        await tab.resize(width, height);
        const { count, outOfReach } = await reachOf(tab);
        if (count === 0) found.push(`${name}, ${width} px: no controls`);
        for (const each of outOfReach) found.push(`${name}, ${width} px: ${each}`);
      }
    }
    if (user !== undefined) await signOut();
    expect(found).toEqual([]);
  });
});
