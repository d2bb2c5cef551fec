import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { CHROMIUM, openWindow, wrongOn } from './chromium.ts';
import { useDemoInChromium } from './demo-in-chromium.ts';

/** With the first of the days that only they use, in days from today. */
const SCREENS = [
  { width: 390, colorScheme: 'light', script: true, firstDay: 150 },
  { width: 1440, colorScheme: 'dark', script: true, firstDay: 160 },
] as const;
/** As many bookings come by telephone. */
const CALLS = 3;

describe.skipIf(lacks(CHROMIUM))('the day of a house in Chromium', { timeout: 180_000 }, () => {
  const started = useDemoInChromium({ CONSOLE_WRITES_PER_MINUTE: '1000' });

  test.each(SCREENS)(
    'overview, week, entries, a move, a message and a sheet at the door at $width px',
    async ({ firstDay, ...screen }) => {
      const [harbour] = started.running.demo.communities;
      const cookies = await started.signedIn(harbour.user);
      const { context, page, complaints } = await openWindow(started.browser, started.running.url, screen, cookies);
      const looked = async (path: string) => {
        await page.goto(path);
        expect([path, await wrongOn(page)]).toEqual([path, []]);
      };
      const customer = `Choir at ${screen.width}`;

      await looked('/console/overview');
      await looked('/console/calendar/week');
      for (let call = 0; call < CALLS; call += 1) {
        await page.getByRole('link', { name: 'Enter a booking' }).first().click();
        await enter(page, { customer, isNew: call === 0, date: inDays(firstDay + call) });
        await page.goto(`/console/calendar/week/${inDays(firstDay + call)}`);
        await expect.poll(() => page.getByRole('link', { name: new RegExp(customer) }).count()).toBeGreaterThan(0);
      }
      expect(await wrongOn(page)).toEqual([]);

      await page.goto(`/console/calendar/week/${inDays(firstDay)}`);
      await page
        .getByRole('link', { name: new RegExp(customer) })
        .first()
        .click();
      expect(await wrongOn(page)).toEqual([]);
      await page.locator('#booking a[href^="/console/bookings/"]').first().click();
      await page.getByRole('link', { name: 'Move…' }).click();
      await page.getByLabel('Day', { exact: true }).fill(inDays(firstDay + 5));
      await page.getByRole('button', { name: 'Move booking' }).click();
      expect(await page.locator('.flash').first().textContent()).toContain('The booking is in');
      expect(await wrongOn(page)).toEqual([]);

      await page.goto('/console/bookings');
      await page
        .locator('main td a[href^="/console/bookings/"], main li a[href^="/console/bookings/"]')
        .first()
        .click();
      // Both screens may write to the same booking.
      const message = `The side door is open from six, says ${customer}.`;
      await page.getByLabel('Your message').fill(message);
      await page.getByRole('button', { name: 'Send message' }).click();
      await page.locator('#message-list').getByText(message).waitFor();
      expect(await wrongOn(page)).toEqual([]);

      await looked('/console/feeds');
      await page.getByLabel('Times of').selectOption({ index: 1 });
      await page.getByLabel('A screen at the door of a space').check();
      await page.getByRole('button', { name: 'Add feed' }).click();
      const door = /\S+\/door\/\S+/.exec((await page.locator('main').textContent()) ?? '')?.[0] ?? '';
      await page.goto(new URL(door).pathname);
      expect(await wrongOn(page)).toEqual([]);
      expect(await page.locator('main h1').count()).toBe(1);
      await context.close();
      expect(complaints).toEqual([]);
    },
  );
});

/** Enters a booking at noon by the form that is open. */
async function enter(
  page: Page,
  { customer, isNew, date }: { readonly customer: string; readonly isNew: boolean; readonly date: string },
): Promise<void> {
  await page.locator('#customer').fill(customer);
  if (isNew) await page.getByLabel('Add the customer').check();
  await page.locator('#date').fill(date);
  await page.locator('#startHour').selectOption('12');
  await page.locator('#guests').fill('20');
  await page.getByRole('button', { name: /^Enter/ }).click();
  expect(await page.locator('.flash').first().textContent()).toContain('Entered for');
}
