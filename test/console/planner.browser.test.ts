import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { lacks } from '../lacks.ts';
import { CHROMIUM, openWindow } from './chromium.ts';
import { useDemoInChromium } from './demo-in-chromium.ts';

const PASSWORD = 'correct horse battery';

/** A planner with forty guests, without an account, on a phone. */
describe.skipIf(lacks(CHROMIUM))('a planner who knows nobody', { timeout: 180_000 }, () => {
  const started = useDemoInChromium({ SIGN_UP: 'brands' });

  /** Presses a link or a button: by touch, or with Enter once it has the focus. */
  const pressing = (isTouch: boolean) => async (page: Page, role: 'link' | 'button', name: string | RegExp) => {
    const control = page.getByRole(role, { name }).first();
    if (isTouch) return control.tap();
    await control.focus();
    return page.keyboard.press('Enter');
  };

  test.each(['touch', 'keyboard'])(
    'finds a room for 40 on a Saturday evening, compares two, signs up and asks: by %s',
    async (way) => {
      const isTouch = way === 'touch';
      const press = pressing(isTouch);
      const screen = { width: isTouch ? 390 : 1440, colorScheme: 'light', script: true } as const;
      const { context, page, complaints } = await openWindow(started.browser, started.running.url, screen);
      const startedAt = performance.now();
      await page.goto('/h/1');
      await press(page, 'link', 'Find a room');
      await page.getByLabel('Guests').fill('40');
      await page.getByLabel('Start time').selectOption('18');
      await press(page, 'button', 'Find spaces');
      await page.locator('details.find-more > summary').press('Enter');
      const months = page.getByLabel('Instead of dates: any day in');
      await months.selectOption({ index: 2 });
      await page.getByLabel('Only on').selectOption('Saturday');
      await press(page, 'button', 'Find spaces');

      const boxes = page.getByRole('checkbox', { name: /^Compare / });
      await boxes.nth(0).check();
      await boxes.nth(1).check();
      await press(page, 'button', 'Compare the chosen');
      await page.getByRole('table', { name: 'Comparison of the spaces' }).waitFor();
      expect(await page.locator('table strong').count()).toBeGreaterThan(2);
      await page.goBack();
      await press(page, 'link', /^Sat /);

      expect(await page.getByLabel('Start time').inputValue()).toBe('18');
      const email = `planner.${way}@example.com`;
      await page.getByLabel('Guests').fill('40');
      await page.getByLabel('Message').fill('Our summer party');
      await page.getByLabel('Name of the brand').fill(`Planner by ${way}`);
      await page.getByLabel('E-mail').fill(email);
      await page.getByLabel('Password').fill(PASSWORD);
      await press(page, 'button', 'Sign up');
      await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
      const link = await mailedLink(email);
      await page.goto(link);
      await press(page, 'button', 'Confirm');
      await page.waitForURL('**/console/bookings/**');
      expect(await page.getByText('Our summer party').first().isVisible()).toBe(true);
      // The promise is three minutes for a person, who reads and types.
      expect(performance.now() - startedAt).toBeLessThan(120_000);
      expect(complaints).toEqual([]);
      await context.close();
    },
  );

  /** The link of the mail that arrived. */
  async function mailedLink(email: string): Promise<string> {
    const { mail } = started.running.service.core;
    const linkIn = async () =>
      ((await mail.inbox?.list()) ?? [])
        .filter(({ to }) => to === email)
        .map(({ text }) => /https?:\/\/\S+\/sign-up\/confirm\?\S+/.exec(text)?.[0])
        .find((found) => found !== undefined);
    await expect.poll(linkIn, { timeout: 20_000 }).toBeDefined();
    return (await linkIn()) ?? '';
  }
});
