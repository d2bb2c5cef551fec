import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { brandId, communityId, type SpaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { inDays } from '../in-days.ts';
import { hasChromium, launchChromium, openWindow, signInOnce, violationsOn } from './chromium.ts';
import { type Running, startDemo } from './console.fixture.ts';
import { addPlaces, fillDay } from './full-day.ts';

/** Fifteen spaces are open on one day with few bookings; forty with 500 on another. */
const FEW = inDays(30);
const MANY = inDays(31);
const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const WIDTHS = [320, 390, 768, 1024, 1280, 1920] as const;
/** Below this width, in pixels, a day is a list. */
const LIST_BELOW = 704;
/** The widths that axe checks, which takes most of the time: a list, and tables with and without the menu. */
const AXE_WIDTHS = [320, 768, 1920] as const;

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

  /** The windows that tests share, by name. */
  const windows = new Map<string, ReturnType<typeof openWindow>>();
  const open = async (
    path: string,
    { index = 0 as 0 | 1, width = 1280, script = true, colorScheme = 'light' as 'light' | 'dark' } = {},
  ) => {
    const cookies = await signedIn(running.demo.communities[index].user);
    const opened = await windows.getOrInsertComputed(`${index} ${width} ${script}`, () =>
      openWindow(browser, running.url, { width, colorScheme, script }, cookies),
    );
    opened.complaints.length = 0;
    await opened.page.emulateMedia({ media: null, colorScheme });
    await opened.page.setViewportSize({ width, height: 900 });
    await opened.page.goto(path);
    return opened;
  };

  /** Finds parts of the schedule that are too narrow, too tall or overflow. Runs in the page. */
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
  ] as const)('a day with %s is readable at every width', async (_, index, date, spaces) => {
    const { page, complaints } = await open(`/console/calendar/${date}`, { index });
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
  });

  /** The scroll position of the schedule, and whether its hours and headings are visible. Runs in the page. */
  const STICKY = `(() => {
    const schedule = document.querySelector('.schedule');
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    const outside = schedule.getBoundingClientRect();
    return {
      top: schedule.scrollTop,
      left: schedule.scrollLeft,
      headings: Math.round(box('.day-table thead th:nth-child(2)').top - outside.top),
      hours: Math.round(box('.day-table tbody th').left - outside.left),
    };
  })()`;
  /** How much of the focused booking the hours or the headings cover, 1 being all of it. Runs in the page. */
  const HIDDEN = `(() => {
    if (!document.activeElement.matches('.held a')) return 0;
    const at = document.activeElement.getBoundingClientRect();
    const hour = document.querySelector('.day-table tbody th').getBoundingClientRect();
    const heading = document.querySelector('.day-table thead th').getBoundingClientRect();
    const share = (covered, whole) => Math.min(1, Math.max(0, Math.floor(covered)) / whole);
    return Math.max(share(hour.right - at.left, at.width), share(heading.bottom - at.top, at.height));
  })()`;
  type Sticky = { readonly top: number; readonly left: number; readonly headings: number; readonly hours: number };

  test('hours and headings stay visible without JavaScript and with the keyboard alone, and never cover the focus', async () => {
    const { page, complaints } = await open(`/console/calendar/${MANY}`, {
      script: false,
      colorScheme: 'dark',
    });
    await page.setViewportSize({ width: 1024, height: 600 });
    const schedule = page.getByRole('region', { name: 'Schedule' });
    await schedule.focus();
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowDown', 'ArrowDown', 'ArrowDown'])
      await page.keyboard.press(key);
    await expect.poll(async () => (await page.evaluate<Sticky>(STICKY)).top).toBeGreaterThan(50);
    const scrolled = await page.evaluate<Sticky>(STICKY);
    expect(scrolled.left).toBeGreaterThan(50);
    expect([scrolled.headings, scrolled.hours]).toEqual([1, 1]);

    await page.locator('.held a').nth(60).focus();
    for (let presses = 0; presses < 30; presses += 1) {
      await page.keyboard.press('Shift+Tab');
      await expect.poll(() => page.evaluate<number>(HIDDEN), { message: `after ${presses} presses` }).toBeLessThan(1);
    }
    await page.keyboard.press('Enter');
    await page.waitForURL('**/console/bookings/*');
    await page.goBack();
    await page.getByRole('navigation', { name: 'More spaces' }).getByRole('link').click();
    expect(
      await page.getByRole('navigation', { name: 'Groups of spaces' }).locator('[aria-current]').textContent(),
    ).toMatch(/^Spaces 1\d–/);
    expect(complaints).toEqual([]);
  });

  test('with JavaScript, the focused element is fully visible', async () => {
    const { page } = await open(`/console/calendar/${MANY}`);
    await page.setViewportSize({ width: 1024, height: 600 });
    await page.locator('.held a').nth(60).focus();
    for (let presses = 0; presses < 30; presses += 1) {
      await page.keyboard.press('Shift+Tab');
      await expect.poll(() => page.evaluate<number>(HIDDEN), { message: `after ${presses} presses` }).toBe(0);
    }
  });

  test('on a phone, in either orientation, a day is a list by hour with space, time and status', async () => {
    const { page } = await open(`/console/calendar/${FEW}`, { index: 1, width: 390 });
    for (const size of [
      { width: 390, height: 844 },
      { width: 844, height: 390 },
    ]) {
      await page.setViewportSize(size);
      const entries = page.locator('.held a');
      const tops = await entries.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
      const lefts = await entries.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().left));
      expect(tops).toEqual(tops.toSorted((a, b) => a - b));
      expect(new Set(lefts).size).toBe(1);
      const times = (await entries.locator('.time').allTextContents()).map((time) => time.slice(0, 5));
      expect(times).toEqual(times.toSorted());
      for (const part of ['.time', '.word', '.where'])
        expect(await entries.first().locator(part).boundingBox(), part).toMatchObject({ width: expect.any(Number) });
      expect((await entries.first().locator('.where').boundingBox())?.width).toBeGreaterThan(30);
      expect(await page.locator('.day-table td:not(.held)').first().isVisible()).toBe(false);
    }
  });

  test('a printed day shows all spaces, booked or not, on any paper size', async () => {
    const { page } = await open(`/console/calendar/${MANY}`);
    await page.getByRole('link', { name: 'Show all, to print them' }).click();
    await page.emulateMedia({ media: 'print' });
    const account = { kind: 'Community', id: communityId(1) } as const;
    const spaces = await running.service.core.queries.spaces.list(account);
    for (const width of [703, 725, 1031]) {
      await page.setViewportSize({ width, height: 1000 });
      expect(await page.evaluate('document.documentElement.scrollWidth'), `${width} px`).toBeLessThanOrEqual(width);
      const text = (await page.locator('main').innerText()).replaceAll(/\s+/g, ' ');
      expect(spaces.filter(({ name }) => !text.includes(name.replaceAll(/\s+/g, ' ')))).toEqual([]);
    }
    expect(await page.locator('.held a').count()).toBeGreaterThanOrEqual(500);
  });

  test('on a phone, the month is scrolled to today', async () => {
    for (const path of ['/console/calendar', '/console/calendar#today']) {
      const { page } = await open('/console/signed-out', { width: 390, script: false });
      // A month may have few days after today; then the page is too short to be scrolled there.
      await page.route('**/assets/base.css*', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, body: `${await response.text()} main { padding-bottom: 100vh }` });
      });
      await page.goto(path);
      const top = (await page.locator('.today').boundingBox())?.y ?? 0;
      // Below the bar with the menu.
      expect(top, path).toBeGreaterThanOrEqual(60);
      expect(top, path).toBeLessThan(120);
    }
  });

  test('an update keeps the scroll position of the schedule', async () => {
    const { page } = await open(`/console/calendar/${MANY}`);
    await page.setViewportSize({ width: 1024, height: 600 });
    await page.locator('.schedule').evaluate((schedule) => schedule.scrollTo(300, 200));
    const before = await page.evaluate<Sticky>(STICKY);
    const { core } = running.service;
    const [hall] = await core.queries.spaces.list({ kind: 'Community', id: communityId(1) });
    if (hall === undefined) throw new Error('There is no space');
    const command = { brandId: brandId(1), details: { spaceId: hall.spaceId, date: MANY, startHour: 10 } };
    const { bookingId } = accepted(await core.commands.bookings.request(command, CONTEXT));
    await page.locator(`.held a[href$="/${bookingId}"]`).waitFor({ state: 'attached' });
    expect(await page.evaluate<Sticky>(STICKY)).toEqual(before);
    await expect.poll(() => page.locator('.lead').textContent()).toContain('101 pending');
  });

  test.each([
    [0, 'light'],
    [1, 'dark'],
  ] as const)(
    'axe reports no violations in the calendar of community %i, %s, as a list or a table',
    async (index, colorScheme) => {
      const found: string[] = [];
      for (const path of index === 0
        ? [`calendar/${MANY}`]
        : [`calendar/${FEW}`, `calendar?month=${FEW.slice(0, 7)}`]) {
        const { page } = await open(`/console/${path}`, { index, colorScheme });
        for (const width of AXE_WIDTHS) {
          await page.setViewportSize({ width, height: 900 });
          for (const { id, html } of await violationsOn(page))
            found.push(`${path} ${width} ${id}: ${html.slice(0, 120)}`);
        }
      }
      expect(found).toEqual([]);
    },
  );
});
