import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { brandId, communityId, spaceId } from '../../src/domain/ids.ts';
import { deliveryCollection } from '../../src/webhooks/delivery.ts';
import { accepted } from '../accepted.ts';
import { replace } from '../document-store/replace.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { answering, type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { fillDeliveries } from './busy-deliveries.ts';
import { CHROMIUM, launchChromium, openWindow, type Screen, signInOnce, violationsOn } from './chromium.ts';
import { type Running, startBusy } from './console.fixture.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const HARBOUR = { kind: 'Community', id: communityId(1) } as const;
const NOBODY = 'http://127.0.0.1:9/hooks/of/somebody/who/left?token=abcdefghijklmnopqrstuvwxyz';

const WIDE: Screen = { width: 1440, colorScheme: 'light', script: true };
const PHONE: Screen = { width: 390, colorScheme: 'dark', script: false };

describe.skipIf(lacks(CHROMIUM))('deliveries of a busy store in Chromium', { timeout: 120_000 }, () => {
  let running: Running;
  let browser: Browser;
  let receiver: Receiver;
  let busy: string;
  let webhookId: string;
  let signedIn: ReturnType<typeof signInOnce>;

  beforeAll(async () => {
    [running, browser, receiver] = await Promise.all([startBusy(), launchChromium(), startReceiver()]);
    signedIn = signInOnce(running.url);
    const { core } = running.service;
    busy = await fillDeliveries(core, HARBOUR, { url: NOBODY, count: 2_000 });
    webhookId = await fillDeliveries(core, HARBOUR, { url: receiver.url, count: 500 });
    // Nothing is sent to it during the test.
    accepted(
      await core.commands.webhooks.disable({ webhookId: busy, reason: 'The receiver answered 410 Gone' }, CONTEXT),
    );
  }, 120_000);
  afterAll(async () => {
    await browser.close();
    await running.stop();
    await receiver.close();
  });

  async function opened(screen: Screen) {
    const [community] = running.demo.communities;
    return openWindow(browser, running.url, screen, await signedIn(community.user));
  }

  let day = 150;

  /** A booking whose approval has failed for good. */
  async function lostApproval(): Promise<number> {
    const { core } = running.service;
    // A day of its own, also when a test is tried again.
    day += 1;
    const details = { spaceId: spaceId(1), date: inDays(day), startHour: 10 };
    const { bookingId } = accepted(await core.commands.bookings.request({ brandId: brandId(1), details }, CONTEXT));
    receiver.answer = (received, response) => {
      const { event, data } = JSON.parse(received.body);
      response.writeHead(event === 'BookingApproved' && data.bookingId === bookingId ? 500 : 200).end();
    };
    accepted(await core.commands.bookings.approve({ bookingId, communityId: HARBOUR.id }, CONTEXT));
    const documents = await core.documents.open(deliveryCollection);
    await eventually(async () => {
      const all = await core.webhooks.listDeliveries({ webhookId, state: 'Pending', limit: 1_000 });
      const lost = all.find(
        ({ event, body }) => event === 'BookingApproved' && JSON.parse(body).data.bookingId === bookingId,
      );
      const stored = lost && (await documents.get(lost.deliveryId));
      if (stored === undefined || stored.document.attempts.length === 0) throw new Error('Not attempted yet');
      const failed = { ...stored.document, state: 'Failed' as const, reason: 'The last attempt failed: status 500' };
      if (!(await replace(documents, stored.key, failed, stored.version))) throw new Error('Attempted meanwhile');
    });
    receiver.answer = answering(200, {}, 'thank you');
    return bookingId;
  }

  const fits = async (page: Page, width: number) =>
    expect(await page.evaluate<number>('document.documentElement.scrollWidth'), page.url()).toBeLessThanOrEqual(width);

  test.each([
    ['on a wide screen', WIDE],
    ['on a phone, without JavaScript', PHONE],
  ] as const)('a lost delivery can be found and resent in three steps %s', async (_, screen) => {
    const bookingId = await lostApproval();
    const { context, page, complaints } = await opened(screen);
    await page.goto('/console/webhooks');
    const before = receiver.received.length;

    // One: search for the booking.
    await page.getByLabel('Find a delivery').fill(String(bookingId));
    await page.getByLabel('Find a delivery').press('Enter');
    // Two: open what failed. Its row is a link as a whole.
    await page.getByRole('row').filter({ hasText: 'Failed' }).click();
    // Three: send it again.
    await page.getByRole('button', { name: 'Resend' }).click();

    // Others of the busy store may be sent meanwhile.
    await expect
      .poll(() => receiver.received.slice(before).map(({ body }) => JSON.parse(body)))
      .toContainEqual(
        expect.objectContaining({ event: 'BookingApproved', data: expect.objectContaining({ bookingId }) }),
      );
    if (screen.script) await page.locator('#delivery-state').getByText('Delivered').waitFor();
    else
      await eventually(async () => {
        await page.reload();
        expect(await page.locator('#delivery-state').textContent()).toContain('Delivered');
      });
    expect(await page.locator('main').textContent()).not.toMatch(/Failed|on its way/);
    if (screen.script) expect(await violationsOn(page)).toEqual([]);
    await fits(page, screen.width);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('on a phone, event names are neither wrapped nor cut off', async () => {
    for (const path of ['webhooks/deliveries', `webhooks/${webhookId}`]) {
      const { context, page } = await opened({ ...PHONE, width: 320 });
      await page.goto(`/console/${path}`);
      for (const width of [320, 390, 430]) {
        await page.setViewportSize({ width, height: 844 });
        const names = await page.locator('.deliveries tbody th a').evaluateAll((all) =>
          all.map((name) => {
            const [box, cell] = [name.getBoundingClientRect(), name.parentElement.getBoundingClientRect()];
            return { isOneLine: box.height < 36, isInside: box.width <= cell.width + 1 };
          }),
        );
        expect(names.length).toBeGreaterThan(3);
        for (const name of names) expect(name, `${path}, ${width} px`).toEqual({ isOneLine: true, isInside: true });
        await fits(page, width);
      }
      await context.close();
    }
  });

  test('deliveries print as a table', async () => {
    const { context, page } = await opened(WIDE);
    await page.goto('/console/webhooks/deliveries');
    await page.emulateMedia({ media: 'print' });
    // The width of A4 between the margins.
    await page.setViewportSize({ width: 703, height: 1000 });
    const tops = await page
      .locator('.deliveries thead th, .deliveries tbody tr:first-child > *')
      .evaluateAll((all) => all.map((cell) => Math.round(cell.getBoundingClientRect().top)));
    expect(new Set(tops).size).toBe(2);
    await context.close();
  });

  test('a confirmation opens as an overlay, so no button moves', async () => {
    for (const screen of [WIDE, { ...WIDE, width: 390 }]) {
      const { context, page } = await opened(screen);
      await page.goto(`/console/webhooks/${webhookId}`);
      const buttons = page.locator('main .button, main .table tr').filter({ visible: true });
      const places = () => buttons.evaluateAll((all) => all.map((each) => `${each.offsetLeft} ${each.offsetTop}`));
      const before = await places();
      for (const name of ['Disable…', 'Rotate secret…', 'Remove…']) {
        await page.getByText(name, { exact: true }).click();
        expect((await places()).filter((place) => !before.includes(place)).length, name).toBeLessThanOrEqual(1);
        await fits(page, screen.width);
        await page.getByText(name, { exact: true }).click();
      }
      await context.close();
    }
  });
});
