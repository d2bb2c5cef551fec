import { beforeAll, describe, expect, test } from 'vitest';
import { brandId, cents, communityId, type SpaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { CHROMIUM, openWindow, violationsOn } from './chromium.ts';
import { useDemoInChromium } from './demo-in-chromium.ts';
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

describe.skipIf(lacks(CHROMIUM))('the calendar of a community with many spaces', { timeout: 120_000 }, () => {
  const started = useDemoInChromium();
  let spaceIds: readonly SpaceId[];
  beforeAll(async () => {
    const { core } = started.running.service;
    const others = await addPlaces(core, communityId(2), 13);
    await fillDay(core, { communityId: communityId(2), spaceIds: others, date: FEW }, 40);
    spaceIds = await addPlaces(core, communityId(1), 38);
    await fillDay(core, { communityId: communityId(1), spaceIds, date: MANY }, 500);
  }, 120_000);

  /** The windows that tests share, by name. */
  const windows = new Map<string, ReturnType<typeof openWindow>>();
  const open = async (
    path: string,
    { index = 0 as 0 | 1, width = 1280, script = true, colorScheme = 'light' as 'light' | 'dark' } = {},
  ) => {
    const cookies = await started.signedIn(started.running.demo.communities[index].user);
    const opened = await windows.getOrInsertComputed(`${index} ${width} ${script}`, () =>
      openWindow(started.browser, started.running.url, { width, colorScheme, script }, cookies),
    );
    opened.complaints.length = 0;
    await opened.page.emulateMedia({ media: null, colorScheme });
    await opened.page.setViewportSize({ width, height: 900 });
    await opened.page.goto(path);
    return opened;
  };

  /** The sizes of the parts of a plan, in pixels. Runs in the page. */
  const MEASURE = `(() => {
    const box = (element) => element.getBoundingClientRect();
    const all = (selector) => [...document.querySelectorAll(selector)];
    const links = all('.plan td > a').filter((link) => link.checkVisibility());
    return {
      page: document.documentElement.scrollWidth,
      spaces: all('.plan tbody tr').length,
      rows: [...new Set(all('.plan tbody tr').map((row) => Math.round(box(row).height)))],
      hour: Math.min(...all('.plan thead th').slice(1).map((heading) => box(heading).width)),
      small: links.filter((link) => box(link).height < 24 || box(link).width < 24).length,
    };
  })()`;
  type Sizes = Readonly<Record<'page' | 'spaces' | 'hour' | 'small', number>> & { readonly rows: readonly number[] };

  test.each([
    ['15 spaces', 1, FEW, 15],
    ['40 spaces and 500 bookings', 0, MANY, 40],
  ] as const)('a day with %s has rows of 28 pixels, and a list on a phone', async (_, index, date, spaces) => {
    const { page, complaints } = await open(`/console/calendar/${date}`, { index });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      const found = await page.evaluate<Sizes>(MEASURE);
      expect(found.page, `${width} px`).toBeLessThanOrEqual(width);
      expect(found.spaces, `${width} px`).toBeLessThanOrEqual(spaces);
      expect(found.small, `${width} px`).toBe(0);
      if (width < LIST_BELOW) continue;
      expect(found.rows, `${width} px`).toEqual([28]);
      expect(found.hour, `${width} px`).toBeGreaterThanOrEqual(38);
    }
    expect(complaints).toEqual([]);
  });

  /** The scroll position of the plan, and whether its hours and names are visible. Runs in the page. */
  const STICKY = `(() => {
    const plan = document.querySelector('.plan');
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    const outside = plan.getBoundingClientRect();
    return {
      top: plan.scrollTop,
      left: plan.scrollLeft,
      hours: Math.round(box('.plan thead th:nth-child(2)').top - outside.top),
      names: Math.round(box('.plan tbody th').left - outside.left),
    };
  })()`;
  /** How much of the focused link the names or the hours cover, 1 being all of it. Runs in the page. */
  const HIDDEN = `(() => {
    if (!document.activeElement.matches('.plan td > a')) return 0;
    const at = document.activeElement.getBoundingClientRect();
    const name = document.querySelector('.plan tbody th').getBoundingClientRect();
    const hour = document.querySelector('.plan thead th').getBoundingClientRect();
    const share = (covered, whole) => Math.min(1, Math.max(0, Math.floor(covered)) / whole);
    return Math.max(share(name.right - at.left, at.width), share(hour.bottom - at.top, at.height));
  })()`;
  type Sticky = { readonly top: number; readonly left: number; readonly hours: number; readonly names: number };

  test('names and hours stay visible without JavaScript and with the keyboard alone, and never cover the focus', async () => {
    const { page, complaints } = await open(`/console/calendar/${MANY}?group=all`, {
      script: false,
      colorScheme: 'dark',
    });
    await page.setViewportSize({ width: 720, height: 480 });
    const plan = page.getByRole('region', { name: 'Schedule' });
    await plan.focus();
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowDown', 'ArrowDown', 'ArrowDown'])
      await page.keyboard.press(key);
    await expect.poll(async () => (await page.evaluate<Sticky>(STICKY)).top).toBeGreaterThan(50);
    const scrolled = await page.evaluate<Sticky>(STICKY);
    expect(scrolled.left).toBeGreaterThan(40);
    expect([scrolled.hours, scrolled.names]).toEqual([1, 1]);

    await page.locator('.held a').nth(60).focus();
    for (let presses = 0; presses < 30; presses += 1) {
      await page.keyboard.press('Shift+Tab');
      await expect.poll(() => page.evaluate<number>(HIDDEN), { message: `after ${presses} presses` }).toBeLessThan(1);
    }
    await page.locator('.held a').first().press('Enter');
    await page.waitForURL('**#booking');
    await page.goto(`/console/calendar/${MANY}`);
    await page.getByRole('navigation', { name: 'More spaces' }).getByRole('link').click();
    expect(
      await page.getByRole('navigation', { name: 'Groups of spaces' }).locator('[aria-current]').textContent(),
    ).toMatch(/^Spaces 1\d–/);
    expect(complaints).toEqual([]);
  });

  test('with JavaScript, a plan is one stop of the Tab key, in which arrow keys move; the focus is fully visible', async () => {
    const { page } = await open(`/console/calendar/${MANY}?group=all`);
    await page.setViewportSize({ width: 720, height: 480 });
    await page.getByRole('region', { name: 'Schedule' }).focus();
    const focused = () => page.evaluate<string>('document.activeElement.textContent.trim()');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Harbour Hall');
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
    expect(await focused()).toContain('08:00–09:00');
    for (const [key, times] of [
      ['ArrowRight', 6],
      ['ArrowDown', 5],
      ['ArrowLeft', 3],
      ['ArrowUp', 4],
    ] as const)
      for (let pressed = 0; pressed < times; pressed += 1) {
        await page.keyboard.press(key);
        await expect.poll(() => page.evaluate<number>(HIDDEN), { message: `${key} ${pressed}` }).toBe(0);
      }
    expect(await focused()).toContain('11:00–12:00');
    const current = await focused();
    // Tab leaves the plan, and comes back to the same link.
    await page.keyboard.press('Tab');
    expect(await page.evaluate("document.activeElement.closest('.plan') === null")).toBe(true);
    await page.keyboard.press('Shift+Tab');
    expect(await focused()).toBe(current);
  });

  test.each([true, false])(
    'a request is approved beside the plan, and an own event added at an empty hour (JavaScript: %s)',
    async (script) => {
      const day = inDays(script ? 33 : 34);
      const { core } = started.running.service;
      const [hall] = await core.queries.spaces.list({ kind: 'Community', id: communityId(1) });
      if (hall === undefined) throw new Error('There is no space');
      const command = { brandId: brandId(1), details: { spaceId: hall.spaceId, date: day, startHour: 10 } };
      const { bookingId } = accepted(await core.commands.bookings.request(command, CONTEXT));
      const { page, complaints } = await open(`/console/calendar/${day}`, { script });
      await page.locator(`#b${bookingId}`).click();
      const panel = page.getByRole('region', { name: 'Northwind Coffee' });
      // Beside the plan, and its top in sight.
      const [at, plan] = await Promise.all([panel.boundingBox(), page.locator('.plan').boundingBox()]);
      expect(at?.x).toBeGreaterThan((plan?.x ?? 0) + (plan?.width ?? 0));
      expect(at?.y).toBeGreaterThanOrEqual(0);
      await panel.getByRole('button', { name: 'Approve' }).click();
      await page.getByText('Request approved').waitFor();
      expect(new URL(page.url()).pathname).toBe(`/console/calendar/${day}`);
      expect(await panel.getByText('Approved', { exact: true }).isVisible()).toBe(true);
      await panel.getByRole('link', { name: 'Close' }).click();
      await panel.waitFor({ state: 'detached' });
      expect(new URL(page.url()).hash).toBe(`#b${bookingId}`);

      // From 14:00 to 22:00 the hall is free.
      const free = page.locator(`tr:has(#b${bookingId}) .free a`).last();
      const { width = 0, height = 0 } = (await free.boundingBox()) ?? {};
      await free.click({ position: { x: (width * 2.5) / 8, y: height / 2 } });
      await expect.poll(() => page.getByLabel('Start', { exact: true }).inputValue()).toBe(script ? '16' : '14');
      await page.getByRole('link', { name: 'An own event instead' }).click();
      const hours = async () => [
        await page.getByLabel('From', { exact: true }).inputValue(),
        await page.getByLabel('To', { exact: true }).inputValue(),
      ];
      expect(await hours()).toEqual([script ? '16' : '14', '22']);
      await page.getByLabel('Title').fill('Choir');
      await page.getByRole('button', { name: 'Add own event' }).click();
      await page.getByText('Own event saved').waitFor();
      expect(new URL(page.url()).pathname).toBe(`/console/calendar/${day}`);
      expect(await page.locator('.own a').innerText()).toContain('Choir');
      expect(complaints).toEqual([]);
    },
  );

  test('on a phone, in either orientation, a day is a list by space with time and status', async () => {
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
      for (const part of ['.time', '.word'])
        expect((await entries.first().locator(part).boundingBox())?.width, part).toBeGreaterThan(30);
      expect(await page.locator('.free').first().isVisible()).toBe(false);
    }
  });

  /** The bookings and closed times whose time or status is not fully within their link. Runs in the page. */
  const CUT_OFF = `[...document.querySelectorAll('.plan td > a')].flatMap((link) => {
    const outside = link.getBoundingClientRect();
    return [...link.querySelectorAll('.time, .word')].filter((part) => {
      const at = part.getBoundingClientRect();
      return at.width < 30 || at.left < outside.left || at.right > outside.right || at.bottom > outside.bottom;
    }).map((part) => part.textContent);
  })`;

  test('on a phone, however long a name is, time and status of its booking or own event are shown', async () => {
    const { closures } = started.running.service.core.commands;
    const spaceIds = await addPlaces(started.running.service.core, communityId(2), 1);
    const title = 'M'.repeat(80);
    const wanted = { communityId: communityId(2), spaceIds, from: FEW, to: FEW, start: 12, until: 13, title };
    accepted(await closures.add({ ...wanted, kind: 'OwnEvent' }, CONTEXT));
    await fillDay(started.running.service.core, { communityId: communityId(2), spaceIds, date: FEW }, 4);
    const { page } = await open(`/console/calendar/${FEW}`, { index: 1, width: 390 });
    for (const path of [`/console/calendar/${FEW}`, `/console/calendar/${FEW}?space=${spaceIds[0]}`]) {
      await page.goto(path);
      for (const width of [320, 390]) {
        await page.setViewportSize({ width, height: 844 });
        expect(await page.locator('.own .time').first().innerText()).toBe('12:00–13:00');
        expect(await page.evaluate(CUT_OFF), `${path}, ${width} px`).toEqual([]);
      }
    }
  });

  test('on a phone, one space at a time is shown to scale, with links to the next one', async () => {
    const { page } = await open(`/console/calendar/${FEW}`, { index: 1, width: 390 });
    await page.locator('.plan tbody th a').nth(2).click();
    await page.waitForURL('**?space=*');
    expect((await page.evaluate<Sizes>(MEASURE)).page).toBe(390);
    for (const [hours, cell] of [
      [1, page.locator('.held').first()],
      [13, page.locator('.held, .free').last()],
    ] as const) {
      const box = await cell.boundingBox();
      const span = Number((await cell.getAttribute('rowspan')) ?? 1);
      expect(box?.height).toBe(span * 48);
      expect(span).toBeLessThanOrEqual(hours);
    }
    // Half an hour is half as high, also where nothing begins at it.
    const { core } = started.running.service;
    const terms = {
      name: 'Half',
      windowStart: 9,
      windowEnd: 20,
      durationHours: 3.5,
      eventFee: cents(0),
      answerHours: 72,
    };
    const half = accepted(await core.commands.catalogue.addSpace({ ...terms, communityId: communityId(2) }, CONTEXT));
    const command = { brandId: brandId(1), details: { spaceId: half, date: FEW, startHour: 11 } };
    const { bookingId } = accepted(await core.commands.bookings.request(command, CONTEXT));
    await page.goto(`/console/calendar/${FEW}?space=${half}`);
    expect((await page.locator(`td:has(#b${bookingId})`).boundingBox())?.height).toBe(3.5 * 48);
    await page.goBack();
    const wide = await open(`/console/calendar/${FEW}`, { index: 1 });
    const hour = (await wide.page.locator('.plan thead th').nth(1).boundingBox())?.width ?? 0;
    const held = (await wide.page.locator(`td:has(#b${bookingId})`).boundingBox())?.width ?? 0;
    expect(Math.abs(held - 3.5 * hour)).toBeLessThan(3);
    const chosen = await page.getByRole('combobox', { name: 'Space' }).inputValue();
    await page.getByRole('navigation', { name: 'More spaces' }).getByRole('link').last().click();
    await expect
      .poll(() => page.getByRole('combobox', { name: 'Space' }).inputValue())
      .toBe(String(Number(chosen) + 1));
  });

  test('a printed day shows all spaces, booked or not, on any paper size', async () => {
    const { page } = await open(`/console/calendar/${MANY}`);
    await page.getByRole('link', { name: 'Show all, to print them' }).click();
    await page.emulateMedia({ media: 'print' });
    const account = { kind: 'Community', id: communityId(1) } as const;
    const spaces = await started.running.service.core.queries.spaces.list(account);
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

  test('an update keeps the scroll position of the plan', async () => {
    const { page } = await open(`/console/calendar/${MANY}?group=all`);
    await page.setViewportSize({ width: 720, height: 480 });
    await page.locator('.plan').evaluate((plan) => plan.scrollTo(100, 200));
    const before = await page.evaluate<Sticky>(STICKY);
    const { core } = started.running.service;
    const [hall] = await core.queries.spaces.list({ kind: 'Community', id: communityId(1) });
    if (hall === undefined) throw new Error('There is no space');
    const command = { brandId: brandId(1), details: { spaceId: hall.spaceId, date: MANY, startHour: 10 } };
    const { bookingId } = accepted(await core.commands.bookings.request(command, CONTEXT));
    await page.locator(`#b${bookingId}`).waitFor({ state: 'attached' });
    expect(await page.evaluate<Sticky>(STICKY)).toEqual(before);
    await expect.poll(() => page.locator('.lead').textContent()).toContain('101 pending');
    // A new booking takes the place of a free hour that is in sight.
    await page.goto(`/console/calendar/${inDays(35)}`);
    const another = { ...command, details: { ...command.details, date: inDays(35) } };
    const { bookingId: next } = accepted(await core.commands.bookings.request(another, CONTEXT));
    const shown = page.locator(`#b${next}`);
    await shown.waitFor();
    expect(await page.locator('.notices').innerText()).not.toContain('changed');
    // A colleague's answer appears beside the plan.
    await shown.click();
    const panel = page.getByRole('region', { name: 'Northwind Coffee' });
    await panel.getByText('Pending', { exact: true }).waitFor();
    accepted(await core.commands.bookings.approve({ bookingId: next, communityId: communityId(1) }, CONTEXT));
    await panel.getByText('Approved', { exact: true }).waitFor();
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
