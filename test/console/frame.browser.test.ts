import { describe, expect, test } from 'vitest';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { CHROMIUM, openWindow, type Screen } from './chromium.ts';
import { useDemoInChromium } from './demo-in-chromium.ts';

describe.skipIf(lacks(CHROMIUM))('menus and expandable forms', { timeout: 60_000 }, () => {
  const started = useDemoInChromium();

  const open = async (path: string, screen: Partial<Screen> = {}) => {
    const [harbour] = started.running.demo.communities;
    const whole = { width: 1280, colorScheme: 'light', script: true, ...screen } as const;
    const opened = await openWindow(started.browser, started.running.url, whole, await started.signedIn(harbour.user));
    await opened.page.goto(path);
    return opened;
  };

  test.each([true, false])('the button and Escape close the menu on a phone (JavaScript: %s)', async (script) => {
    const { context, page, complaints } = await open('/console/spaces', { width: 390, script });
    const menu = page.locator('#menu');
    const opener = page.getByRole('button', { name: 'Menu' });
    await opener.click();
    const close = menu.getByRole('button', { name: 'Close', exact: true });
    expect(Math.round((await close.boundingBox())?.height ?? 0)).toBeGreaterThanOrEqual(44);
    await close.click();
    expect(await menu.isVisible()).toBe(false);
    await opener.click();
    expect(await menu.isVisible()).toBe(true);
    await page.keyboard.press('Escape');
    expect(await menu.isVisible()).toBe(false);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a message is shown above the open menu of a phone, and stays when the menu is closed', async () => {
    const { context, page, complaints } = await open('/console/spaces', { width: 390 });
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.evaluate(
      `document.dispatchEvent(new CustomEvent('venue:announce', { detail: { text: 'Your role has changed.', keep: true } }))`,
    );
    const message = page.locator('.toast');
    const isOnTop = () =>
      page.evaluate<boolean>(`(() => {
        const close = document.querySelector('.toast button');
        const { left, top, width, height } = close.getBoundingClientRect();
        return document.elementFromPoint(left + width / 2, top + height / 2) === close;
      })()`);
    await expect.poll(isOnTop).toBe(true);
    const before = await message.boundingBox();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('#menu').isVisible()).toBe(false);
    expect([await isOnTop(), await message.boundingBox()]).toEqual([true, before]);
    await message.getByRole('button', { name: 'Close' }).click();
    expect(await message.count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a wide screen has no menu to close, and the calendar and tables use its full width', async () => {
    const { context, page } = await open('/console/spaces', { width: 1920 });
    expect(await page.locator('.menu-close').isVisible()).toBe(false);
    const widths: Record<string, number> = {};
    for (const path of ['calendar', `calendar/${inDays(3)}`, 'bookings', 'spaces/new']) {
      await page.goto(`/console/${path}`);
      widths[path] = (await page.locator('main').boundingBox())?.width ?? 0;
    }
    expect(Object.values(widths)).toEqual([1600, 1600, 1600, 1152]);
    // Headings use the font of the text, so that the policy need not allow web fonts.
    const face = await page.evaluate<{ h1: string; body: string; weight: string }>(`(() => {
      const style = (name) => getComputedStyle(document.querySelector(name));
      return { h1: style('h1').fontFamily, body: style('body').fontFamily, weight: style('h1').fontWeight };
    })()`);
    expect([face.h1, face.weight]).toEqual([face.body, '650']);
    await context.close();
  });

  test('Escape closes the focused element, or else the last one opened, and keeps the focus nearby', async () => {
    const { context, page, complaints } = await open('/console/spaces');
    const asks = page.locator('details.confirm');
    await asks.nth(0).locator('summary').click();
    await asks.nth(1).locator('summary').click();
    await asks.nth(0).getByRole('button').focus();
    await page.keyboard.press('Escape');
    expect(await asks.evaluateAll((all) => all.map((one) => one.hasAttribute('open')))).toEqual([false, true]);
    expect(
      await asks
        .nth(0)
        .locator('summary')
        .evaluate((summary) => summary.matches(':focus')),
    ).toBe(true);
    await page.locator('main').focus();
    await page.keyboard.press('Escape');
    expect(await asks.evaluateAll((all) => all.map((one) => one.hasAttribute('open')))).toEqual([false, false]);
    // There is nothing left to close.
    await page.keyboard.press('Escape');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('only irreversible actions are red', async () => {
    const { context, page } = await open('/console/clients');
    await page.getByLabel('Name').fill('Nightly export');
    await page.getByRole('button', { name: 'Create client' }).click();
    await page.goto('/console/webhooks');
    await page.getByLabel('Endpoint URL').fill('http://127.0.0.1:9/hook');
    await page.getByRole('button', { name: 'Register' }).click();
    await page.getByRole('link', { name: 'I have copied it' }).click();
    const red: string[] = [];
    for (const url of [
      page.url(),
      '/console/keys',
      '/console/clients',
      '/console/spaces',
      '/console/bookings/6',
      '/console/bookings/5/cancel',
    ]) {
      await page.goto(url);
      red.push(...(await page.locator('.danger').allTextContents()));
    }
    expect(red).toEqual([
      ...['Remove…', 'Remove webhook', 'Revoke…', 'Revoke key', 'Remove…', 'Remove client'],
      ...['Decline request', 'Cancel booking'],
    ]);
    await context.close();
  });
});
