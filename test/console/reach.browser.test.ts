import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BROWSERS } from '../browsers/browsers.ts';
import { outOfReach } from '../browsers/controls.ts';
import { signIn, signOut } from '../browsers/sign-in.ts';
import type { RunningBrowser, Tab } from '../browsers/tab.ts';
import type { Running } from './console.fixture.ts';
import { type PageOf, startBusyPages } from './pages.ts';

let running: Running;
let pages: readonly PageOf[];
beforeAll(async () => {
  ({ running, pages } = await startBusyPages());
});
afterAll(() => running.stop());

describe.each(BROWSERS.filter(({ isThere }) => isThere))('in $name', ({ start }) => {
  let browser: RunningBrowser;
  let tab: Tab;
  beforeAll(async () => {
    browser = await start();
    tab = await browser.newTab();
  });
  afterAll(() => browser.close());

  test.each(['community', 'brand', 'nobody'] as const)('every control of every page of %s is in reach', async (who) => {
    const theirs = pages.filter((one) => one.who === who);
    const user = theirs[0]?.user;
    await tab.resize(1440, 900);
    if (user !== undefined) await signIn(tab, running.url, user);
    const found = await outOfReach(tab, running.url, theirs);
    if (user !== undefined) await signOut(tab, running.url);
    expect(found).toEqual([]);
  });
});
