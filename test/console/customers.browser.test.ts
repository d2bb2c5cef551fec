import { describe, expect, test } from 'vitest';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { CHROMIUM, openWindow, wrongOn } from './chromium.ts';
import { useDemoInChromium } from './demo-in-chromium.ts';

/** As many bookings as a desk takes by telephone in a day. */
const CALLS = 40;
const CUSTOMERS = 8;

describe.skipIf(lacks(CHROMIUM))('the desk in Chromium', { timeout: 300_000 }, () => {
  const started = useDemoInChromium({ CONSOLE_WRITES_PER_MINUTE: '1000' });

  test('forty bookings by telephone are entered by keyboard alone, each with at most sixty keys', async () => {
    const [harbour] = started.running.demo.communities;
    const cookies = await started.signedIn(harbour.user);
    const screen = { width: 1280, colorScheme: 'light', script: true } as const;
    const { page, complaints } = await openWindow(started.browser, started.running.url, screen, cookies);
    await page.goto('/console/bookings/enter');
    let keys = 0;
    const press = async (key: string, times = 1) => {
      for (let count = 0; count < times; count += 1) await page.keyboard.press(key);
      keys += times;
    };
    const type = async (text: string) => {
      await page.keyboard.type(text);
      keys += text.length;
    };
    /** Moves on to the field with this id. */
    const goTo = async (id: string) => {
      for (let count = 0; count < 12; count += 1) {
        if ((await page.evaluate('document.activeElement.id')) === id) return;
        await press('Tab');
      }
      throw new Error(`Tab does not lead to ${id}`);
    };

    for (let call = 0; call < CALLS; call += 1) {
      keys = 0;
      const isNew = call < CUSTOMERS;
      // Chromium gives the focus when it first draws the page, which may be after `load`.
      await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('customer');
      await type(`Caller ${(call % CUSTOMERS) + 1}`);
      if (isNew) {
        await goTo('isNew');
        await press('Space');
      }
      await goTo('date');
      await press('Control+A');
      await type(inDays(100 + call));
      await goTo('startHour');
      await type('12');
      await goTo('guests');
      await type('20');
      await Promise.all([page.waitForEvent('load'), press('Enter')]);
      const said = await page.locator('.flash').first().textContent();
      expect(said).toMatch(new RegExp(`Entered for .*Caller ${(call % CUSTOMERS) + 1}.*12:00`));
      expect(keys).toBeLessThanOrEqual(60);
    }
    expect(complaints).toEqual([]);
    expect(await wrongOn(page)).toEqual([]);
    await page.goto('/console/customers');
    await expect.poll(() => page.getByRole('row', { name: /Caller/ }).count()).toBe(CUSTOMERS);
  });
});
