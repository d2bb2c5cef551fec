import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { communityId, type SpaceId } from '../../src/domain/ids.ts';
import { inDays } from '../in-days.ts';
import { hasChromium, launchChromium, openWindow, signInOnce } from './chromium.ts';
import { type Running, startDemo } from './console.fixture.ts';
import { addPlaces, fillDay } from './full-day.ts';

/** Fifteen spaces are open on one day with few bookings; forty with 500 on another. */
const FEW = inDays(30);
const MANY = inDays(31);
const WIDTHS = [320, 390, 768, 1024, 1280, 1920] as const;
/** Below this width, in pixels, a day is a list. */
const LIST_BELOW = 704;

describe.skipIf(!hasChromium)('the calendar of a community with many spaces', { timeout: 120_000 }, () => {
  let running: Running;
  let browser: Browser;
  let signedIn: ReturnType<typeof signInOnce>;
  let spaceIds: readonly SpaceId[];
  beforeAll(async () => {
    [running, browser] = await Promise.all([startDemo(), launchChromium()]);
    signedIn = signInOnce(running.url);
    const { core } = running.service;
    const others = await addPlaces(core, communityId(2), 13);
    await fillDay(core, { communityId: communityId(2), spaceIds: others, date: FEW }, 40);
    spaceIds = await addPlaces(core, communityId(1), 38);
    await fillDay(core, { communityId: communityId(1), spaceIds, date: MANY }, 500);
  }, 120_000);
  afterAll(async () => {
    await browser.close();
    await running.stop();
  });

  const open = async (
    path: string,
    { index = 0, width = 1280, script = true, colorScheme = 'light' as 'light' | 'dark' } = {},
  ) => {
    const community = running.demo.communities[index];
    if (community === undefined) throw new Error('The demo lacks a community');
    const cookies = await signedIn(community.user);
    const opened = await openWindow(browser, running.url, { width, colorScheme, script }, cookies);
    await opened.page.goto(path);
    return opened;
  };

  /** Measures the schedule: what is too narrow, too tall or spills. Runs in the page. */
  const MEASURE = `(() => {
    const box = (element) => element.getBoundingClientRect();
    const headings = [...document.querySelectorAll('.day-table thead th')].slice(1);
    const rows = [...document.querySelectorAll('.day-table tbody tr')];
    const entries = [...document.querySelectorAll('.day-table .held a')];
    const lineHeight = parseFloat(getComputedStyle(headings[0]).lineHeight);
    return {
      page: document.documentElement.scrollWidth,
      columns: headings.length,
      narrow: headings.filter((heading) => box(heading).width < 140).length,
      linesOfHeadings: Math.max(...headings.map((heading) => box(heading.querySelector('bdi')).height / lineHeight)),
      heights: [...new Set(rows.map((row) => Math.round(box(row).height)))],
      entries: entries.length,
      spilling: entries.filter((entry) => entry.scrollWidth > entry.clientWidth + 1 || entry.scrollHeight > entry.clientHeight + 1).length,
      small: entries.filter((entry) => box(entry).height < 24 || box(entry).width < 24).length,
    };
  })()`;

  test.each([
    ['15 spaces', 1, FEW, 15],
    ['40 spaces and 500 bookings', 0, MANY, 40],
  ])('a day with %s is readable at every width', async (_, index, date, spaces) => {
    const { context, page, complaints } = await open(`/console/calendar/${date}`, { index });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      const found = await page.evaluate<Record<string, number> & { heights: number[] }>(MEASURE);
      expect(found.page, `${width} px`).toBeLessThanOrEqual(width);
      expect(found.columns, `${width} px`).toBeLessThanOrEqual(spaces);
      expect([found.spilling, found.small], `${width} px`).toEqual([0, 0]);
      if (width < LIST_BELOW) continue;
      expect(found.narrow, `${width} px`).toBe(0);
      expect(found.linesOfHeadings, `${width} px`).toBeLessThanOrEqual(2.1);
      expect(found.heights, `${width} px`).toHaveLength(1);
    }
    expect(complaints).toEqual([]);
    await context.close();
  });
});
