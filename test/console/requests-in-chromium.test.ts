import type { Locator, Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { brandId, cents, communityId, type spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { CHROMIUM, openWindow, type Screen, signInOnce } from './chromium.ts';
import { useDemoInChromium } from './demo-in-chromium.ts';
import { endSession } from './end-session.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const HARBOUR = { kind: 'Community', id: communityId(1) } as const;
const WIDE: Screen = { width: 1280, colorScheme: 'light', script: true };
const PHONE: Screen = { width: 390, colorScheme: 'light', script: true };

describe.skipIf(lacks(CHROMIUM))('the inbox in Chromium', { timeout: 120_000 }, () => {
  const started = useDemoInChromium({ APPROVE_CONFIRM_ABOVE: '5000' });
  let cookies: Awaited<ReturnType<ReturnType<typeof signInOnce>>>;
  let colleague: { readonly actor: { readonly kind: 'user'; readonly id: string; readonly account: typeof HARBOUR } };
  let hall: ReturnType<typeof spaceId>;

  beforeAll(async () => {
    const [harbour] = started.running.demo.communities;
    cookies = await started.signedIn(harbour.user);
    const { users, commands } = started.running.service.core;
    const other = { email: 'anna@harbour.example', password: 'a long enough password', accounts: [HARBOUR] };
    const user = accepted(await users.add(other, CONTEXT));
    colleague = { actor: { kind: 'user', id: user.id, account: HARBOUR } };
    // An hour long and open all day, so that a day has room for many.
    const terms = { windowStart: 0, windowEnd: 23, durationHours: 1, answerHours: 72, eventFee: cents(100_00) };
    hall = accepted(await commands.catalogue.addSpace({ ...terms, name: 'Hall', communityId: HARBOUR.id }, CONTEXT));
    // Answers the requests of the demo data, so that each test starts with an empty inbox.
    await answerAll();
  });

  afterEach(() => answerAll());

  async function requested(days: number, startHour = 10, message?: string): Promise<number> {
    const details = { spaceId: hall, date: inDays(days), startHour, ...(message !== undefined && { message }) };
    const asked = await started.running.service.core.commands.bookings.request(
      { brandId: brandId(1), details },
      CONTEXT,
    );
    return accepted(asked).bookingId;
  }
  const approve = async (bookingId: number) =>
    accepted(
      await started.running.service.core.commands.bookings.approve(
        { bookingId, communityId: HARBOUR.id },
        { ...colleague, correlationId: 'test' },
      ),
    );
  const decline = async (bookingId: number) =>
    accepted(
      await started.running.service.core.commands.bookings.cancel({ bookingId, by: HARBOUR, reason: 'Over.' }, CONTEXT),
    );
  async function answerAll(): Promise<void> {
    const pending = await started.running.service.core.queries.requests.pending(HARBOUR.id, {}, { order: 'deadline' });
    for (const { bookingId } of pending) await decline(bookingId);
  }
  const statusOf = async (id: number) => (await started.running.service.core.queries.bookings.get(HARBOUR, id))?.status;

  const row = (page: Page, id: number) => page.locator(`#request-${id}`);
  /** One window per screen, shared by tests that leave nothing behind but its page. */
  const windows = new Map<Screen, ReturnType<typeof openWindow>>();
  const open = async (screen: Screen, path = '/console/inbox') => {
    const { page, complaints } = await windows.getOrInsertComputed(screen, () =>
      openWindow(started.browser, started.running.url, screen, cookies),
    );
    complaints.length = 0;
    await page.goto(path);
    return { page, complaints };
  };
  /** The positions of all clickable elements, with the row of each. */
  const places = (page: Page) =>
    page.evaluate<
      readonly string[]
    >(`[...document.querySelectorAll('main a, main button, main summary, main input:not([type=hidden])')].map((one) => {
      const { left, top, width } = one.getBoundingClientRect();
      return width === 0 ? '' : [one.closest('.request-row')?.id ?? '', one.textContent, Math.round(left), Math.round(top)].join(' ');
    }).filter(Boolean)`);
  const underPointer = (page: Page, { x, y }: { x: number; y: number }) =>
    page.evaluate<string>(`(() => {
      const found = document.elementFromPoint(${x}, ${y});
      return [found.closest('.request-row')?.id, found.closest('button, a, summary')?.textContent].join(' ');
    })()`);

  test.each([
    ['a wide screen', WIDE, 10],
    ['a phone', PHONE, 20],
  ])('a new request with an earlier date moves nothing on %s and is announced', async (_, screen, days) => {
    const later = [await requested(days + 3), await requested(days + 4)];
    const { page, complaints } = await open(screen, '/console/inbox?sort=date');
    const [first = 0] = later;
    const button = row(page, first).getByRole('button', { name: 'Approve' });
    await button.hover();
    const box = await button.boundingBox();
    const point = { x: (box?.x ?? 0) + 5, y: (box?.y ?? 0) + 5 };
    await button.focus();
    const before = await places(page);
    const earlier = await requested(days, 8, 'I came first.');
    await page.getByRole('link', { name: '1 new request – show' }).waitFor();
    await requested(days, 11);
    await requested(days, 14);
    // There is one notice, and its number stays correct, also in the browser tab.
    const news = page.getByRole('link', { name: '3 new requests – show' });
    await news.waitFor();
    await expect.poll(() => page.title()).toBe('(5) Requests · Venue Booking');
    expect(await page.locator('.toast, .live-notice').count()).toBe(0);
    expect((await places(page)).filter((one) => !one.includes('new request'))).toEqual(before);
    expect(await underPointer(page, point)).toBe(`request-${first} Approve`);
    expect(await page.evaluate('document.activeElement.closest(".request-row").id')).toBe(`request-${first}`);
    await page.mouse.click(point.x, point.y);
    await eventually(async () => expect(await statusOf(first)).toBe('Approved'));
    expect(await statusOf(earlier)).toBe('Pending');
    // The row shows the decision, also on a phone, and takes no more room than the buttons did.
    await row(page, first).getByText('Approved by you').waitFor();
    expect(await page.locator('.toast').count()).toBe(0);

    await news.click();
    await page.getByText('I came first.').waitFor();
    expect(await page.getByRole('link', { name: /new request/ }).count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('a request answered by a colleague keeps its position, loses its buttons and selection, and names the colleague', async () => {
    const ids = [await requested(40), await requested(41), await requested(42)];
    const [first = 0, second = 0, third = 0] = ids;
    const { page, complaints } = await open(WIDE);
    for (const id of [second, third]) await row(page, id).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Approve selected (2)' }).waitFor();
    await row(page, second).getByRole('button', { name: 'Approve' }).focus();
    const before = await places(page);
    await approve(second);
    await row(page, second).getByText('Approved by anna@harbour.example').waitFor();
    const after = await places(page);
    expect(after.filter((one) => !/selected/.test(one))).toEqual(
      before.filter((one) => !/selected/.test(one) && !(one.startsWith(`request-${second}`) && !/Northwind/.test(one))),
    );
    await page.getByRole('button', { name: 'Approve selected (1)' }).waitFor();
    // The focus stays with the row.
    expect(await page.evaluate('document.activeElement.id')).toBe(`request-${second}`);
    await page.getByRole('button', { name: 'Approve selected' }).click();
    await row(page, third).getByText('Approved by you').waitFor();
    expect(await statusOf(first)).toBe('Pending');
    expect(complaints).toEqual([]);
  });

  test.each([
    ['a wide screen', WIDE],
    ['a phone', PHONE],
  ])(
    'Decline opens across the row on %s, collapses, and messages cover neither it nor the next row',
    async (_, screen) => {
      const ids = [await requested(60), await requested(61), await requested(62)];
      const [first = 0, second = 0] = ids;
      const { page } = await open(screen);
      // The list handles this key anywhere on the page.
      await page.keyboard.press('j');
      expect(await page.evaluate('document.activeElement.id')).toBe(`request-${first}`);
      await page.keyboard.press('j');
      expect(await page.evaluate('document.activeElement.id')).toBe(`request-${second}`);
      await row(page, first).getByText('Decline…').click();
      const reason = row(page, first).getByLabel('Reason');
      await reason.fill('We are closed.');
      await row(page, first).getByText('14 of 500 characters').waitFor();
      const widthOf = async (locator: Locator) => (await locator.boundingBox())?.width ?? 0;
      expect(await widthOf(reason)).toBeGreaterThan(0.8 * (await widthOf(row(page, first))));
      await page.evaluate(`for (const text of ['One', 'Two', 'Three', 'Four'])
      document.dispatchEvent(new CustomEvent('venue:announce', { detail: { text, keep: true } }));
      document.dispatchEvent(new CustomEvent('venue:held', { detail: { held: true } }))`);
      expect(await page.locator('.toast').allTextContents()).toEqual(['TwoClose', 'ThreeClose', 'FourClose']);
      const covered = await page.evaluate<readonly string[]>(`(() => {
      const notices = [...document.querySelectorAll('.toast, .live-notice')].map((one) => one.getBoundingClientRect());
      return [...document.querySelectorAll('.request-row :is(a, button, input, summary)')]
        .filter((control) => {
          const { left, right, top, bottom, width } = control.getBoundingClientRect();
          return width > 0 && notices.some((box) => left < box.right && right > box.left && top < box.bottom && bottom > box.top);
        })
        .map((control) => control.outerHTML);
    })()`);
      expect(covered).toEqual([]);
      await row(page, first).getByRole('button', { name: 'Cancel' }).click();
      expect(await reason.isVisible()).toBe(false);
    },
  );

  test.each([WIDE, PHONE])('nothing of a message that cannot expand is hidden, at $width px', async (screen) => {
    const id = await requested(91, 10, `${'A dinner for sixty at long tables. '.repeat(4)}Yes?`);
    const { page } = await open(screen);
    const message = row(page, id).locator('p.message');
    expect(await message.evaluate((one) => one.scrollHeight - one.clientHeight)).toBe(0);
    expect(await message.textContent()).toMatch(/Yes\?$/);
  });

  test.each([WIDE, PHONE])('a whole row leads to its request, below its box, message and buttons', async (screen) => {
    const id = await requested(41, 12, 'A long message. '.repeat(20));
    for (const script of [true, false]) {
      const { page } = await openWindow(started.browser, started.running.url, { ...screen, script }, cookies);
      await page.goto('/console/inbox');
      const press = (on: Locator) => (screen === PHONE ? on.tap() : on.click());
      await press(row(page, id).getByRole('checkbox'));
      await press(row(page, id).locator('summary', { hasText: 'A long message' }));
      await press(row(page, id).locator('summary', { hasText: 'Decline…' }));
      await press(row(page, id).getByRole('combobox'));
      expect(await row(page, id).getByRole('checkbox').isChecked()).toBe(true);
      expect(new URL(page.url()).pathname).toBe('/console/inbox');
      const terms = row(page, id).locator('.terms');
      await (screen === PHONE ? terms.tap({ force: true }) : terms.click({ force: true }));
      await page.waitForURL(`**/console/bookings/${id}`);
      await page.context().close();
    }
  });

  test('a withdrawal does not discard a reason that is being typed', async () => {
    const id = await requested(43);
    const { page } = await open(WIDE);
    await row(page, id).getByText('Decline…').click();
    await row(page, id).getByLabel('Reason').fill('We are closed.');
    const { bookings } = started.running.service.core.commands;
    accepted(await bookings.cancel({ bookingId: id, by: { kind: 'Brand', id: brandId(1) } }, CONTEXT));
    await page.getByText('This page has changed').waitFor();
    expect(await row(page, id).getByLabel('Reason').inputValue()).toBe('We are closed.');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.notices').textContent()).toContain('It was withdrawn by the operator');
    expect(await page.locator('.notices').textContent()).toContain('You typed: We are closed.');
    await row(page, id).getByText('Withdrawn by the operator').waitFor();
  });

  test('shortcut keys do nothing on a row that has just moved, outside the list, or when switched off', async () => {
    const ids = [await requested(70), await requested(71), await requested(72)];
    const [first = 0, second = 0, third = 0] = ids;
    const window = await openWindow(started.browser, started.running.url, WIDE, cookies);
    const { context, page, complaints } = window;
    // The clock of the page is paused until the test advances it.
    await page.clock.install();
    await page.goto('/console/inbox');
    await row(page, second).waitFor();
    await page.clock.pauseAt(Date.now() + 60_000);
    const statuses = () => Promise.all(ids.map(statusOf));

    // Outside of the list.
    await page.locator('.request-filter summary').focus();
    await page.keyboard.press('a');
    await page.keyboard.press('d');

    // The row above expands, so this one moves.
    await row(page, first).focus();
    await page.keyboard.press('d');
    await page.locator(`#reason-${first}:focus`).waitFor();
    await row(page, second).focus();
    await page.keyboard.press('a');
    await expect.poll(() => page.locator('.notices').textContent()).toContain('has just moved here');
    expect(await statuses()).toEqual(['Pending', 'Pending', 'Pending']);

    // A second later it may. The next row has the focus, and a key that is held down does not go on.
    await page.clock.runFor(1000);
    await page.keyboard.down('a');
    await row(page, second).getByText('Approved by you').waitFor();
    await page.locator(`#request-${third}:focus`).waitFor();
    await page.keyboard.down('a');
    await page.keyboard.up('a');
    await page.keyboard.press('a');
    await expect.poll(() => page.locator('.notices').textContent()).toContain('has just moved here');
    expect(await statuses()).toEqual(['Pending', 'Approved', 'Pending']);

    // Esc closes the open element; keys typed in a field are text, not shortcuts.
    await row(page, first).getByLabel('Reason').focus();
    await page.keyboard.type('ajkd?');
    expect(await row(page, first).getByLabel('Reason').inputValue()).toBe('ajkd?');
    await page.keyboard.press('Escape');
    await page.locator(`#request-${first}:focus`).waitFor();

    await page.clock.runFor(1000);
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keys in this list' }).waitFor();
    await page.getByLabel('Use these keys').uncheck();
    await page.keyboard.press('Escape');
    for (const path of [undefined, '/console/inbox']) {
      if (path !== undefined) await page.goto(path);
      await page.clock.runFor(2000);
      await row(page, third).focus();
      for (const key of ['a', 'd', 'x', 'j', 'k', '?']) await page.keyboard.press(key);
      expect(await page.locator(`#request-${third}:focus`).count()).toBe(1);
      expect(await page.locator('.request-row input:checked, .request-row details[open], :popover-open').count()).toBe(
        0,
      );
    }
    expect(await statuses()).toEqual(['Pending', 'Approved', 'Pending']);
    // They are switched on again by the button.
    await page.getByRole('button', { name: 'Keys…' }).click();
    await page.getByLabel('Use these keys').check();
    expect(complaints).toEqual([]);
    await context.close();
  });

  /** Requests an event whose total must be confirmed. */
  async function requestedDear(daysAhead: number): Promise<number> {
    const { catalogue } = started.running.service.core.commands;
    await catalogue.changeSpace({ spaceId: hall, terms: { eventFee: cents(15_000_00) } }, CONTEXT);
    const id = await requested(daysAhead);
    await catalogue.changeSpace({ spaceId: hall, terms: { eventFee: cents(100_00) } }, CONTEXT);
    return id;
  }

  test('above the configured amount, the approve key asks for confirmation in the row, and Enter confirms', async () => {
    const id = await requestedDear(75);
    const { page } = await open(WIDE);
    await row(page, id).focus();
    await page.waitForTimeout(1000);
    await page.keyboard.press('a');
    await page.locator(':focus', { hasText: 'Approve for $17,250.00' }).waitFor();
    expect(await statusOf(id)).toBe('Pending');
    await page.keyboard.press('Enter');
    await row(page, id).getByText('Approved by you').waitFor();
    expect(await statusOf(id)).toBe('Approved');
  });

  test('a confirmation is sent even if an update replaces its row before its turn', async () => {
    const id = await requestedDear(76);
    const { page } = await open(WIDE);
    await row(page, id).getByText('Approve…').click();
    await row(page, id)
      .getByRole('button', { name: 'Approve for $17,250.00' })
      .evaluate((button: { click(): void; remove(): void }) => {
        button.click();
        button.remove();
      });
    await row(page, id).getByText('Approved by you').waitFor();
    expect(await statusOf(id)).toBe('Approved');
  });

  test('a change that would move clickable elements is offered by a link instead of applied', async () => {
    const id = await requested(5);
    const { page, complaints } = await open(WIDE, '/console/bookings');
    await page.getByRole('link', { name: `#${id}` }).hover();
    const before = await places(page);
    const earlier = await requested(4);
    const show = page.locator('.live-notice').getByRole('link', { name: 'Show' });
    await show.waitFor();
    expect(await places(page)).toEqual(before);
    await show.click();
    await page.getByRole('link', { name: `#${earlier}` }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('a decision that cannot be sent, or is sent after the session has ended, is reported and changes nothing', async () => {
    const id = await requested(80);
    const own = await signInOnce(started.running.url)(started.running.demo.communities[0].user);
    const { context, page } = await openWindow(started.browser, started.running.url, WIDE, own);
    await page.goto('/console/inbox?sort=deadline');
    await context.setOffline(true);
    await row(page, id).getByRole('button', { name: 'Approve' }).click();
    await expect.poll(() => page.locator('.notices').textContent()).toContain('The service cannot be reached');
    await context.setOffline(false);
    await endSession(started.running, { cookie: (wanted) => own.find(({ name }) => name === wanted)?.value });
    await row(page, id).getByText('Decline…').click();
    await page.locator(`#reason-${id}:focus`).waitFor();
    await page.keyboard.type('We are closed.');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Nothing was declined' }).waitFor();
    expect(await page.getByLabel('Reason, as you typed it').inputValue()).toBe('We are closed.');
    expect(await statusOf(id)).toBe('Pending');
    const link = page.getByRole('link', { name: 'Sign in to review and resend' });
    expect(await link.getAttribute('href')).toContain(encodeURIComponent('/console/inbox?sort=deadline'));
    await context.close();
  });

  test('when a row updates before its form fails, the focus moves to the next row, which can be answered', async () => {
    const [first = 0, second = 0] = [await requested(82), await requested(83)];
    const { page, complaints } = await open(WIDE);
    await page.route(
      `**/bookings/${first}/approve`,
      async (route) => {
        await route.fetch({ maxRedirects: 0 });
        await row(page, first).getByText('Approved by you').waitFor();
        await route.fulfill({ status: 404 });
      },
      { times: 1 },
    );
    await row(page, first).getByRole('button', { name: 'Approve' }).click();
    await page.locator(`#request-${second}:focus`).waitFor();
    await row(page, second).getByRole('button', { name: 'Approve' }).click();
    await row(page, second).getByText('Approved by you').waitFor();
    expect(complaints).toEqual([]);
  });

  test('a request of a brand that has to be let in first takes no key, and can be answered once its brand is let in', async () => {
    const { commands } = started.running.service.core;
    accepted(await commands.admissions.changeNewBrands({ communityId: HARBOUR.id, newBrands: 'wait' }, CONTEXT));
    const { brandId: fresh } = accepted(await commands.catalogue.addBrand({ name: 'Fresh' }, CONTEXT));
    const details = { spaceId: hall, date: inDays(88), startHour: 10 };
    const { bookingId } = accepted(await commands.bookings.request({ brandId: fresh, details }, CONTEXT));
    // All days of its series can be declined, which is not what the key of approving does.
    const series = '0b5f3c1e-0000-4000-8000-000000000000';
    const days: number[] = [];
    for (const startHour of [12, 14]) {
      const ofSeries = { ...details, startHour, series };
      days.push(accepted(await commands.bookings.request({ brandId: fresh, details: ofSeries }, CONTEXT)).bookingId);
    }
    const { page, complaints } = await open(WIDE);
    await row(page, days[0] ?? 0).focus();
    await page.waitForTimeout(1_100);
    await page.keyboard.press('a');
    await page.waitForTimeout(300);
    expect(new URL(page.url()).pathname).toBe('/console/inbox');
    await page.keyboard.press('d');
    await page.getByRole('heading', { name: 'Decline 2 requests?' }).waitFor();
    await page.goBack();
    await row(page, bookingId).focus();
    await page.waitForTimeout(1_100);
    for (const key of ['a', 'd', 'x']) await page.keyboard.press(key);
    expect(new URL(page.url()).pathname).toBe('/console/inbox');
    expect(await statusOf(bookingId)).toBe('Pending');
    await row(page, bookingId).getByRole('button', { name: 'Let them in' }).click();
    await row(page, bookingId).getByRole('button', { name: 'Approve' }).click();
    await eventually(async () => expect(await statusOf(bookingId)).toBe('Approved'));
    expect(complaints).toEqual([]);
    accepted(await commands.admissions.changeNewBrands({ communityId: HARBOUR.id, newBrands: 'askNothing' }, CONTEXT));
  });

  test('30 requests can be answered with the keyboard alone in under two minutes', async () => {
    const ids: number[] = [];
    for (let made = 0; made < 30; made += 1) ids.push(await requested(50 + Math.floor(made / 10), 8 + (made % 10)));
    const { context, page, complaints } = await openWindow(started.browser, started.running.url, WIDE, cookies);
    // Adds the second during which a row accepts no key, instead of waiting for it.
    await page.clock.install();
    let waited = 0;
    const look = async () => {
      await page.clock.runFor(1000);
      waited += 1000;
    };
    await page.goto('/console/inbox');
    const begun = performance.now();
    for (let presses = 0; presses < 40; presses += 1) {
      if (await page.locator('.request-row:focus').count()) break;
      await page.keyboard.press('Tab');
    }
    for (const [index, id] of ids.entries()) {
      // After the first page, the link to the rest has the focus.
      await page.locator(`.pager a:focus, #request-${id}:focus`).waitFor();
      if (await page.locator('.pager a:focus').count()) await page.keyboard.press('Enter');
      await page.locator(`#request-${id}:focus`).waitFor();
      await look();
      if (index % 3 === 2) {
        await page.keyboard.press('d');
        await page.locator(`#reason-${id}:focus`).waitFor();
        await page.keyboard.type('We are full.');
        await page.keyboard.press('Enter');
      } else await page.keyboard.press('a');
      await eventually(async () => expect(await statusOf(id)).toBe(index % 3 === 2 ? 'Cancelled' : 'Approved'));
    }
    // There is no next request, so the focus stays on the last.
    await page.locator(`#request-${ids.at(-1)}:focus`, { hasText: 'Declined by you' }).waitFor();
    expect(performance.now() - begun + waited).toBeLessThan(120_000);
    expect(await started.running.service.core.queries.requests.pending(HARBOUR.id, {}, { order: 'deadline' })).toEqual(
      [],
    );
    expect(complaints).toEqual([]);
    await context.close();
  });
});
