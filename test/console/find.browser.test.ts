import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { cents, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { CHROMIUM, openWindow, wrongOn } from './chromium.ts';
import { useDemoInChromium } from './demo-in-chromium.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
/** 200 characters without a space, so that no line can break. */
const ENDLESS = 'W'.repeat(200);
const DATE = inDays(30);

describe.skipIf(lacks(CHROMIUM))('finding and changing spaces in Chromium', { timeout: 120_000 }, () => {
  const started = useDemoInChromium();
  let endless: number;
  let weekly: number;
  beforeAll(async () => {
    const { catalogue } = started.running.service.core.commands;
    const terms = { communityId: 1, windowStart: 0, windowEnd: 23, durationHours: 1, answerHours: 72 };
    endless = accepted(await catalogue.addSpace({ ...terms, name: ENDLESS, eventFee: cents(100_00) }, CONTEXT));
    weekly = accepted(await catalogue.addSpace({ ...terms, name: 'قاعة 🎉', eventFee: cents(1_234_50) }, CONTEXT));
  });

  /** The windows that tests share, by name. */
  const windows = new Map<string, ReturnType<typeof openWindow>>();
  async function open(who: 'brands' | 'communities', path: string, { width = 1280, script = true } = {}) {
    const cookies = await started.signedIn(started.running.demo[who][0].user);
    const screen = { width, colorScheme: 'light', script } as const;
    const window = await windows.getOrInsertComputed(`${who} ${width} ${script}`, () =>
      openWindow(started.browser, started.running.url, screen, cookies),
    );
    window.complaints.length = 0;
    await window.page.emulateMedia({ colorScheme: 'light' });
    await window.page.setViewportSize({ width, height: 900 });
    await window.page.goto(path);
    return window;
  }
  const boxes = (page: Page, selector: string) =>
    page.evaluate<{ x: number; y: number; width: number }[]>(
      `[...document.querySelectorAll('${selector}')].map((one) => one.getBoundingClientRect()).map(({ x, y, width }) => ({ x, y, width }))`,
    );

  test('the error summary of a form gets the focus and links to each field', async () => {
    const { page, complaints } = await open('communities', '/console/spaces/new');
    await page.getByLabel('Name').fill('Loft');
    await page.getByLabel('Event fee').fill('1.234');
    await page.getByLabel('Closes at').fill('8');
    await page.getByRole('button', { name: 'Add space' }).click();
    await expect.poll(() => page.evaluate('document.activeElement.getAttribute("role")')).toBe('alert');
    expect(await wrongOn(page)).toEqual([]);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const focused = () => page.evaluate<string>('document.activeElement.id || location.hash');
    await expect.poll(focused).toMatch(/windowStart/);
    await page.getByLabel('Event fee').fill('1,234.50');
    await page.getByLabel('Closes at').fill('20');
    await page.getByRole('button', { name: 'Add space' }).click();
    await expect.poll(() => page.locator('.flash').textContent()).toContain('Space added.');
    expect(complaints).toEqual([]);
  });

  test('start times have four equal columns, and the price and the request button stay visible beside them', async () => {
    const { page } = await open('brands', `/console/find/${weekly}?date=${DATE}&start=9`);
    for (const width of [320, 390, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      const tiles = await boxes(page, '.slots > li');
      expect(tiles).toHaveLength(23);
      expect(new Set(tiles.map(({ x }) => Math.round(x))).size).toBe(4);
      expect(new Set(tiles.map((tile) => Math.round(tile.width))).size).toBe(1);
      if (width === 1280) {
        await page.setViewportSize({ width, height: 760 });
        await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
        expect(await page.evaluate('scrollY')).toBeGreaterThan(100);
        const panel = await page.locator('.panel').boundingBox();
        expect(panel?.y).toBeGreaterThanOrEqual(0);
        expect((panel?.y ?? 999) + (panel?.height ?? 999)).toBeLessThanOrEqual(760);
      }
    }
  });

  test('the date picker writes dates in the format of the pages; without JavaScript the date is typed', async () => {
    const { page, complaints } = await open('brands', `/console/find?date=${DATE}`);
    const date = page.getByRole('textbox', { name: 'Date' });
    expect(await date.inputValue()).toMatch(/^\w{3} \d{1,2} \w{3,4} \d{4}$/);
    await page.getByRole('button', { name: 'Date: choose from a calendar' }).click();
    const native = page.locator('input.native');
    expect(await native.inputValue()).toBe(DATE);
    await page.evaluate(
      "{ const native = document.querySelector('.native'); native.value = '2030-02-03'; native.dispatchEvent(new Event('change')) }",
    );
    expect(await date.inputValue()).toBe('Sun 3 Feb 2030');
    await date.fill('3.4.2030');
    await page.getByRole('button', { name: 'Find spaces' }).click();
    await expect.poll(() => page.locator('.lead').textContent()).toContain('Wednesday 3 April 2030');
    expect(complaints).toEqual([]);

    const plain = await open('brands', `/console/find?date=${DATE}`, { script: false });
    expect(await plain.page.getByRole('button', { name: 'Date: choose from a calendar' }).count()).toBe(0);
    await plain.page.getByRole('textbox', { name: 'Date' }).fill('2030-04-03');
    await plain.page.getByText('More: other dates').click();
    await plain.page.getByLabel('Name contains').fill('قاعة');
    await plain.page.getByRole('button', { name: 'Find spaces' }).click();
    await plain.page.getByRole('link', { name: '05:00' }).click();
    expect(await plain.page.getByRole('radio', { checked: true }).getAttribute('value')).toBe('5');
    await plain.page.getByLabel('06:00 to').check();
    await plain.page.getByRole('button', { name: 'Request booking' }).click();
    await expect.poll(() => plain.page.locator('.flash').textContent()).toContain('Request sent.');
  });

  test('the keyboard moves between start times', async () => {
    const { page } = await open('brands', `/console/find/${weekly}?date=${DATE}&start=9`);
    await page.getByLabel('09:00 to').focus();
    await page.keyboard.press('ArrowRight');
    expect(await page.getByRole('radio', { checked: true }).getAttribute('value')).toBe('10');
    expect(await page.evaluate("getComputedStyle(document.querySelector('.slot:has(:checked)')).outlineStyle")).toBe(
      'solid',
    );
  });

  test('a phone in landscape shows the whole page, and a request can be sent from it', async () => {
    const { page } = await open('brands', `/console/find?date=${DATE}&name=${ENDLESS.slice(0, 5)}`);
    await page.setViewportSize({ width: 844, height: 390 });
    expect(await wrongOn(page)).toEqual([]);
    await page.getByRole('link', { name: '04:00' }).click();
    expect(await wrongOn(page)).toEqual([]);
    await page.getByLabel('Message to the community').fill('From the train.');
    await page.getByRole('button', { name: 'Request booking' }).click();
    await expect.poll(() => page.locator('.flash').textContent()).toContain('Request sent.');
    expect(await wrongOn(page)).toEqual([]);
  });

  test('names without spaces fit on a phone and on a wide screen, and axe reports no violations', async () => {
    const wrong: Record<string, readonly string[]> = {};
    const look = async (who: 'brands' | 'communities', paths: readonly string[]) => {
      const { page } = await open(who, '/console/history');
      for (const path of paths) {
        await page.goto(path);
        for (const [width, colorScheme] of [
          [320, 'light'],
          [1024, 'dark'],
        ] as const) {
          await page.setViewportSize({ width, height: 900 });
          await page.emulateMedia({ colorScheme });
          wrong[`${path}, ${width} px`] = await wrongOn(page);
        }
      }
    };
    const finds = [`?date=${DATE}`, '?date=2026-02-30&max=1.234', `?date=${DATE}&max=1&name=x&hour=3`];
    await look('brands', [
      ...finds.map((query) => `/console/find${query}`),
      `/console/find/${endless}?date=${DATE}&start=23`,
      '/console/find/1?again=3',
    ]);
    await look('communities', ['/console/spaces', `/console/spaces/${endless}`, '/console/spaces/new']);
    expect(Object.entries(wrong).filter(([, found]) => found.length > 0)).toEqual([]);
  });

  test.each([true, false])('the hours of a space are set by keyboard alone, with script: %s', async (script) => {
    const path = `/console/spaces/${weekly}/hours`;
    const { page, complaints } = await open('communities', path, { width: 390, script });
    const { keyboard } = page;
    const focused = () => page.evaluate<string>('document.activeElement.textContent.trim()');
    await page.locator('[name=day0To]').focus();
    await keyboard.press('Control+A');
    await keyboard.type(script ? '20' : '19');
    const copy = 'Copy Monday to Tuesday–Friday';
    for (let steps = 0; steps < 40 && (await focused()) !== copy; steps += 1) await keyboard.press('Tab');
    await keyboard.press('Enter');
    await expect.poll(() => page.locator('[name=day4To]').inputValue()).toBe(script ? '20' : '19');
    expect([await page.locator('[name=day5To]').inputValue(), await focused()]).toEqual(['23', copy]);
    await page.locator('[name=day6Open]').focus();
    await keyboard.press('Space');
    if (script) expect(await wrongOn(page)).toEqual([]);
    // The Enter key saves.
    await page.locator('[name=gapHours]').focus();
    await keyboard.press('Control+A');
    await keyboard.type(script ? '1' : '2');
    await keyboard.press('Enter');
    await expect.poll(() => page.locator('.flash').textContent()).toContain('Saved.');
    const { queries } = started.running.service.core;
    const isOpen = ({ week = [] }: { week?: readonly unknown[] }) => week[6] !== 'closed';
    expect(isOpen((await queries.operator.space(weekly)) ?? {})).toBe(!script);
    expect(complaints).toEqual([]);
  });

  test('when two people change a space concurrently, the second sees both versions', async () => {
    const path = `/console/spaces/${weekly}`;
    const { page } = await open('communities', path, { width: 390 });
    const { catalogue } = started.running.service.core.commands;
    accepted(await catalogue.changeSpace({ spaceId: spaceId(weekly), terms: { eventFee: cents(99_00) } }, CONTEXT));
    await page.getByLabel('Event fee').fill('88');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('changed by the operator in the meantime');
    expect(await page.getByLabel('Event fee').inputValue()).toBe('88');
    expect(await page.locator('#eventFee-error').textContent()).toContain('$99.00');
    expect(await wrongOn(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => page.locator('.flash').textContent()).toContain('Saved.');
  });
});
