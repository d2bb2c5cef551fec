import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { isRefusal } from '../../src/domain/decision.ts';
import { brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { CHROMIUM, openWindow, type Screen, signIn } from './chromium.ts';
import { useDemoInChromium } from './demo-in-chromium.ts';

const WIDE: Screen = { width: 1280, colorScheme: 'light', script: true };
/** Each task at both widths, in both schemes, with and without JavaScript; between them, each width with and without it. */
const OF_COMMUNITY: readonly Screen[] = [WIDE, { width: 390, colorScheme: 'dark', script: false }];
const OF_BRAND: readonly Screen[] = [
  { width: 390, colorScheme: 'light', script: true },
  { width: 1280, colorScheme: 'dark', script: false },
];
const nameOf = ({ width, colorScheme, script }: Screen) =>
  `${width} px, ${colorScheme}, ${script ? 'with' : 'without'} JavaScript`;

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;

describe.skipIf(lacks(CHROMIUM))('in Chromium', { timeout: 120_000 }, () => {
  const started = useDemoInChromium();
  /** The stored sessions of users. Only the tests named "at work" sign in through the form. */

  const user = (kind: 'communities' | 'brands', index: 0 | 1 = 0) => started.running.demo[kind][index].user;

  let days = 30;
  const freshDate = (): PlainDate => {
    days += 1;
    return inDays(days);
  };
  async function requested(message: string): Promise<{ id: number; date: PlainDate }> {
    const date = freshDate();
    const command = { brandId: brandId(1), details: { spaceId: spaceId(1), date, startHour: 10, message } };
    const outcome = await started.running.service.core.commands.bookings.request(command, CONTEXT);
    if (isRefusal(outcome)) throw new Error(outcome.details);
    return { id: outcome.bookingId, date };
  }

  /** Nothing overflows the width of the screen. */
  const fits = async (page: Page, width: number) =>
    expect(await page.evaluate<number>('document.documentElement.scrollWidth'), page.url()).toBeLessThanOrEqual(width);

  async function go(page: Page, { width }: Screen, name: string): Promise<void> {
    if (width === 390) await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  }

  test.each(OF_COMMUNITY.map((screen) => [nameOf(screen), screen] as const))(
    'a community at work: %s',
    async (_, screen) => {
      const approved = await requested('To approve.');
      const declined = await requested('To decline.');
      const { context, page, complaints } = await openWindow(started.browser, started.running.url, screen);
      await signIn(page, user('communities'));
      await page.goto('/console/inbox');

      const card = (text: string) => page.getByRole('article').filter({ hasText: text });
      const said = page.locator(screen.script ? '.notices' : '.flash');
      await card('To approve.').getByRole('button', { name: 'Approve' }).click();
      await expect.poll(() => said.textContent()).toContain('Request approved');
      await card('To decline.').getByText('Decline…').click();
      await card('To decline.').getByLabel('Reason').fill('We are <b>closed</b>.');
      await page.keyboard.press('Enter');
      await expect.poll(() => said.textContent()).toContain('Request declined');
      await fits(page, screen.width);

      await page.goto(`/console/calendar?month=${approved.date.slice(0, 7)}`);
      await fits(page, screen.width);
      await page.goto(`/console/calendar/${approved.date}`);
      await fits(page, screen.width);
      await page
        .getByRole('region', { name: 'Schedule' })
        .getByRole('link', { name: 'Northwind Coffee' })
        .first()
        .click();
      await page.getByRole('link', { name: 'Open booking #' }).click();
      if (screen.script) {
        await page.getByRole('slider', { name: 'Timeline step' }).press('Home');
        await expect.poll(() => page.locator('#state-then').textContent()).toMatch(/^Pending since /);
        await page.getByRole('button', { name: 'Show' }).click();
        await expect.poll(() => page.locator('#state-then').textContent()).toMatch(/^Pending since /);
      }
      await page.getByRole('textbox', { name: 'View at an earlier time' }).fill('2020-01-01T10:00:00');
      await page.getByRole('button', { name: 'Show' }).click();
      await expect.poll(() => page.locator('#state-then').textContent()).toContain('It was not requested yet');

      await go(page, screen, 'Spaces');
      await page.getByRole('link', { name: 'Rooftop Terrace', exact: true }).click();
      await page.getByLabel('Closes at').fill('9');
      await page.getByRole('button', { name: 'Save' }).click();
      await expect.poll(() => page.locator('#windowStart-error').textContent()).toContain('must be before');
      await page.getByLabel('Closes at').fill(String(18 + OF_COMMUNITY.indexOf(screen)));
      await page.getByRole('button', { name: 'Save' }).click();
      await expect.poll(() => page.locator('.flash').textContent()).toContain('Saved.');

      await go(page, screen, 'API keys');
      await page.getByLabel('Name').fill('Door display');
      await page.getByLabel('View bookings').check();
      await page.getByRole('button', { name: 'Create key' }).click();
      await expect.poll(() => page.locator('.secret code').textContent()).toMatch(/^vbs_live_/);
      await fits(page, screen.width);
      await page.getByRole('link', { name: 'I have copied it' }).click();
      const row = page.getByRole('row').filter({ hasText: 'Door display' }).first();
      await row.getByText('Revoke…').click();
      await row.getByRole('button', { name: 'Revoke key' }).click();
      await expect.poll(() => page.locator('.flash').textContent()).toContain('API key revoked.');

      await go(page, screen, 'Webhooks');
      await page.getByLabel('Endpoint URL').fill('http://127.0.0.1:9/hook');
      await page.getByRole('button', { name: 'Register' }).click();
      await page.getByRole('link', { name: 'I have copied it' }).click();
      await page.getByRole('button', { name: 'Send test delivery' }).click();
      await expect.poll(() => page.locator('h1').textContent()).toBe('Test');
      await fits(page, screen.width);
      expect(complaints).toEqual([]);
      expect(declined.id).toBeGreaterThan(approved.id);
      await context.close();
    },
  );

  test.each(OF_BRAND.map((screen) => [nameOf(screen), screen] as const))('a brand at work: %s', async (_, screen) => {
    const date = freshDate();
    const { context, page, complaints } = await openWindow(started.browser, started.running.url, screen);
    await signIn(page, user('brands'));
    await page.goto('/console/find');
    await page.getByRole('textbox', { name: 'Date' }).fill(date);
    await page.getByRole('button', { name: 'Find spaces' }).click();
    await fits(page, screen.width);
    await page.getByRole('link', { name: 'Harbour Hall' }).click();
    await page.getByLabel('15:00 to').check();
    await page.getByLabel('Message to the community').fill('A tasting.');
    await page.getByRole('button', { name: 'Request booking' }).click();
    await expect.poll(() => page.locator('.flash').textContent()).toContain('Request sent.');
    expect(await page.locator('dl.price').first().textContent()).toContain('$483.00');
    await fits(page, screen.width);
    await page.getByRole('link', { name: 'Withdraw request' }).click();
    await page.getByRole('button', { name: 'Withdraw request' }).click();
    await expect.poll(() => page.locator('.flash').textContent()).toContain('Request withdrawn: ');
    await go(page, screen, 'My bookings');
    await fits(page, screen.width);
    await go(page, screen, 'Charges');
    await fits(page, screen.width);
    if (screen.width === 390) await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await expect.poll(() => page.locator('h1').textContent()).toBe('You are signed out');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a review can be written with the keyboard alone', async () => {
    const { context, page, complaints } = await openWindow(started.browser, started.running.url, WIDE);
    await page.goto('/console/bookings/3');
    // The page focuses this field.
    await page.locator('#email:focus').waitFor();
    await page.keyboard.type(user('brands').email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(user('brands').password);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/console/bookings/3');
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('Skip to main content');
    await page.keyboard.press('Enter');
    await tabTo(page, 'input[name=rating]');
    await page.keyboard.press('Space');
    await tabTo(page, '#title');
    await page.keyboard.type('Bright and quiet');
    await tabTo(page, '#content');
    await page.keyboard.type('We will come again.');
    await tabTo(page, '#review button');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.flash').textContent()).toContain('Your review has been published.');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a week of hours, Christmas in all spaces and a weekly own event are entered with the keyboard alone', async () => {
    const cookies = await started.signedIn(user('communities', 1));
    const { context, page, complaints } = await openWindow(started.browser, started.running.url, WIDE, cookies);
    const terms = {
      name: 'Studio',
      windowStart: 8,
      windowEnd: 20,
      durationHours: 1,
      eventFee: cents(90_00),
      answerHours: 72,
    };
    const { catalogue } = started.running.service.core.commands;
    const owner = { communityId: communityId(started.running.demo.communities[1].id) };
    const studio = accepted(await catalogue.addSpace({ ...terms, ...owner }, CONTEXT));
    const keys = { pressed: 0 };
    const press = async (key: string) => {
      keys.pressed += 1;
      await page.keyboard.press(key);
    };
    const write = async (text: string) => {
      keys.pressed += text.length;
      await page.keyboard.type(text);
    };
    const to = async (selector: string, key?: 'Shift+Tab') => {
      keys.pressed += await tabTo(page, selector, key);
    };
    /** From the top of a page past its menu. */
    const intoMain = async () => {
      await press('Tab');
      await press('Enter');
    };
    const follow = async (selector: string) => {
      await intoMain();
      await to(selector);
      await press('Enter');
    };
    const said = () => page.locator('.flash').textContent();

    await page.goto('/console/spaces');
    await follow(`a[href$="/spaces/${studio}"]`);
    await page.waitForURL(`**/spaces/${studio}`);
    await follow('a[href*="/hours"]');
    await page.waitForURL('**/hours*');
    await intoMain();
    await to('#day0From');
    await write('9');
    await press('Tab');
    await write('18');
    await to('button[value=copy]');
    await press('Enter');
    await page.locator('button[value=copy]:focus').waitFor();
    await to('#day5Fee', 'Shift+Tab');
    await write('600');
    await to('input[name=day6Open]');
    await press('Space');
    await press('Enter');
    await expect.poll(said).toContain('Saved.');

    await to('nav a[href="/console/spaces"]');
    await press('Enter');
    await page.waitForURL('**/spaces');
    await follow('a[href="/console/calendar/closures"]');
    await page.waitForURL('**/closures*');
    await follow('a[href*="kind=Closure"]');
    await page.waitForURL('**/new?kind=Closure*');
    await page.locator('#title:focus').waitFor();
    await write('Christmas');
    await to('#from');
    await write('24 Dec 2027');
    await to('#to');
    await write('26 Dec 2027');
    await press('Enter');
    await expect.poll(said).toContain('saved: 9 days of spaces');

    await follow('a[href="/console/calendar/closures"]');
    await page.waitForURL('**/closures*');
    await follow('a[href*="kind=OwnEvent"]');
    await page.waitForURL('**/new?kind=OwnEvent*');
    await page.locator('#title:focus').waitFor();
    await write('Choir');
    await to('#from');
    await write('10 Jan 2028');
    await to('#to');
    await write('31 Jan 2028');
    await to('#start');
    await write('14');
    await press('Tab');
    await write('16');
    await to(`input[name=spaces][value="${studio}"]`);
    await press('Space');
    await press('Enter');
    await expect.poll(said).toContain('saved: 4 days of spaces');
    // A key a second is slow, and five minutes have three hundred.
    expect(keys.pressed).toBeLessThan(200);

    /** The hours that a brand can book on a date. */
    const open = async (date: string): Promise<string> => {
      const headers = { authorization: `Bearer ${started.running.demo.brands[0].apiKey}` };
      const answer = await fetch(`${started.running.url}/api/v1/spaces/${studio}/availability?date=${date}`, {
        headers,
      });
      const { timeSlots }: { readonly timeSlots: { readonly hour: number; readonly isAvailable: boolean }[] } =
        JSON.parse(await answer.text());
      return timeSlots
        .filter(({ isAvailable }) => isAvailable)
        .map(({ hour }) => hour)
        .join(' ');
    };
    // A Tuesday, a Saturday, a Sunday, the days of Christmas, and Mondays with and without the choir.
    expect(await open('2028-01-11')).toBe('9 10 11 12 13 14 15 16 17');
    expect(await open('2028-01-15')).toBe('8 9 10 11 12 13 14 15 16 17 18 19');
    expect(await open('2028-01-16')).toBe('');
    for (const date of ['2027-12-24', '2027-12-25', '2027-12-26']) expect(await open(date), date).toBe('');
    for (const date of ['2028-01-10', '2028-01-31']) expect(await open(date), date).toBe('9 10 11 12 13 16 17');
    expect(await open('2028-02-07')).toBe('9 10 11 12 13 14 15 16 17');
    expect(complaints).toEqual([]);
    await context.close();
  });

  /** @returns how often Tab was pressed */
  async function tabTo(page: Page, selector: string, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<number> {
    for (let presses = 1; presses <= 40; presses += 1) {
      await page.keyboard.press(key);
      if (await page.locator(`${selector}:focus`).count()) return presses;
    }
    throw new Error(`${selector} cannot be reached by keyboard`);
  }

  test('a request, a decision and a delivery appear without reloading', async () => {
    const screen = WIDE;
    const one = await openWindow(
      started.browser,
      started.running.url,
      screen,
      await started.signedIn(user('communities')),
    );
    const two = await openWindow(started.browser, started.running.url, screen, await started.signedIn(user('brands')));
    await one.page.goto('/console/inbox');
    const { id } = await requested('Shown at once.');
    await one.page.getByRole('link', { name: '1 new request' }).click();
    await one.page.getByText('Shown at once.').waitFor();

    await two.page.goto(`/console/bookings/${id}`);
    await two.page.locator('#head .is-pending').waitFor();
    await one.page
      .getByRole('article')
      .filter({ hasText: 'Shown at once.' })
      .getByRole('button', { name: 'Approve' })
      .click();
    await two.page.locator('#head .is-approved').waitFor();
    await expect.poll(() => two.page.locator('#booking-price').textContent()).toContain('Charged$483.00');

    await two.page.goto('/console/webhooks');
    await two.page.getByLabel('Endpoint URL').fill('http://127.0.0.1:9/hook');
    await two.page.getByRole('button', { name: 'Register' }).click();
    await two.page.getByRole('link', { name: 'I have copied it' }).click();
    await two.page.getByText('No deliveries').waitFor();
    await requested('For the delivery log.');
    await two.page.getByRole('table').getByRole('link', { name: 'BookingRequested' }).waitFor();
    expect([...one.complaints, ...two.complaints]).toEqual([]);
    await one.context.close();
    await two.context.close();
  });

  test('a form that is being filled in is not replaced by an update', async () => {
    const stored = await started.signedIn(user('brands', 1));
    const { context, page, complaints } = await openWindow(started.browser, started.running.url, WIDE, stored);
    const date = freshDate();
    await page.goto(`/console/find/1?date=${date}`);
    await page.getByLabel('11:00 to').check();
    const outcome = await started.running.service.core.commands.bookings.request(
      { brandId: brandId(1), details: { spaceId: spaceId(1), date, startHour: 18 } },
      CONTEXT,
    );
    expect(isRefusal(outcome)).toBe(false);
    await expect.poll(() => page.locator('.live-notice').textContent()).toContain('This page has changed');
    expect(await page.getByLabel('11:00 to').isChecked()).toBe(true);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('the slider steps through the statuses of a booking; a secret can be copied', async () => {
    const stored = await started.signedIn(user('communities'));
    const { context, page, complaints } = await openWindow(started.browser, started.running.url, WIDE, stored);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto('/console/bookings/1');
    const slider = page.getByRole('slider');
    await slider.focus();
    await page.keyboard.press('Home');
    expect(await page.locator('#state-then').textContent()).toContain('Pending since');
    await page.keyboard.press('ArrowRight');
    expect(await page.locator('#state-then').textContent()).toContain('Approved since');

    await page.goto('/console/clients');
    await page.getByLabel('Name').fill('Nightly export');
    await page.getByRole('button', { name: 'Create client' }).click();
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied.').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      await page.locator('.secret code').textContent(),
    );
    expect(complaints).toEqual([]);
    await context.close();
  });
});
