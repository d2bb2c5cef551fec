import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { BROWSERS } from '../browsers/browsers.ts';
import { outOfReach } from '../browsers/controls.ts';
import { signIn, signOut } from '../browsers/sign-in.ts';
import { lacks } from '../lacks.ts';
import type { Running } from './console.fixture.ts';
import { type PageOf, SEE_ALL, startBusyPages } from './pages.ts';

let running: Running;
let pages: readonly PageOf[];
beforeAll(async () => {
  const { pages: all, ...started } = await startBusyPages();
  ({ running } = started);
  pages = all.filter(({ who }) => SEE_ALL.includes(who));
});
afterAll(() => running.stop());

for (const { tool, start } of BROWSERS)
  test.skipIf(lacks(tool))(
    `in ${tool.name}, every control of every page is in reach`,
    { timeout: 900_000 },
    async () => {
      const browser = await start();
      onTestFinished(() => browser.close());
      const tab = await browser.newTab();
      const pagesByUser = Map.groupBy(pages, ({ user }) => user);
      expect(pagesByUser.size).toBe(SEE_ALL.length);
      const found: string[] = [];
      for (const [user, theirs] of pagesByUser) {
        await tab.resize(1440, 900);
        if (user !== undefined) await signIn(tab, running.url, user);
        for (const each of await outOfReach(tab, running.url, theirs)) found.push(each);
        if (user !== undefined) await signOut(tab, running.url);
      }
      expect(found).toEqual([]);
    },
  );
