import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { accepted } from '../accepted.ts';
import { lacks } from '../lacks.ts';
import { CHROMIUM, openWindow } from './chromium.ts';
import { useDemoInChromium } from './demo-in-chromium.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const PHONE = { width: 390, colorScheme: 'light', script: true } as const;

describe.skipIf(lacks(CHROMIUM))('public pages in a browser', { timeout: 120_000 }, () => {
  const started = useDemoInChromium({ SIGN_UP: 'off' });

  test('a website that the house names shows the free days of a room, as high as they are; another one does not', async () => {
    const site = createServer((_request, answer) => {
      answer.setHeader('content-type', 'text/html; charset=utf-8');
      answer.end(`<!doctype html><title>House</title><body><h1>Our hall</h1><div data-venue-space="1"></div>
<script src="${started.running.url}/embed.js" async></script>`);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => site.once('listening', resolve));
    const { port } = site.address() as AddressInfo;
    const sites = [`http://localhost:${port}`];
    const { catalogue } = started.running.service.core.commands;
    accepted(await catalogue.describeCommunity({ communityId: 1, wanted: { sites } }, CONTEXT));

    const named = await openWindow(started.browser, `http://localhost:${port}`, PHONE);
    await named.page.goto('/');
    const calendar = named.page.frameLocator('iframe');
    await calendar.locator('table.free-days').waitFor();
    const frame = named.page.locator('iframe');
    await expect.poll(async () => (await frame.boundingBox())?.height).not.toBe(416);
    const heightOf = async () => (await frame.boundingBox())?.height ?? 0;
    const inside = async () => (await calendar.locator('main').boundingBox())?.height ?? Number.NaN;
    await expect.poll(async () => Math.abs((await heightOf()) - (await inside()))).toBeLessThan(3);
    // It stays so, and gets lower again.
    await frame.evaluate((element) => {
      element.style.height = '900px';
    });
    await calendar.locator('main').evaluate((element) => {
      element.style.paddingBottom = '0';
    });
    await expect.poll(async () => Math.abs((await heightOf()) - (await inside()))).toBeLessThan(3);
    await named.page.waitForTimeout(500);
    expect(Math.abs((await heightOf()) - (await inside()))).toBeLessThan(3);
    const [opened] = await Promise.all([
      named.context.waitForEvent('page'),
      calendar.locator('table.free-days a').last().click(),
    ]);
    await opened.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(named.complaints).toEqual([]);
    await named.context.close();

    const other = await openWindow(started.browser, `http://127.0.0.1:${port}`, PHONE);
    await other.page.goto('/');
    await expect.poll(() => other.complaints.join()).toContain('frame-ancestors');
    await other.context.close();
    site.close();
  });

  test('the page of a room works without a script, and its months follow one another', async () => {
    const { context, page } = await openWindow(started.browser, started.running.url, { ...PHONE, script: false });
    await page.goto('/h/1');
    await page.getByRole('link', { name: 'Harbour Hall' }).click();
    const caption = page.locator('table.free-days caption');
    const first = await caption.innerText();
    await page.getByRole('navigation', { name: 'Month' }).getByRole('link').last().click();
    expect(await caption.innerText()).not.toBe(first);
    await page.locator('table.free-days a').first().click();
    await page.getByLabel('Password').fill(started.running.demo.brands[0].user.password);
    await page.getByLabel('E-mail').fill(started.running.demo.brands[0].user.email);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Request booking' }).waitFor();
    expect(new URL(page.url()).searchParams.get('date')).toMatch(/^\d{4}-\d\d-\d\d$/);
    await context.close();
  });
});
