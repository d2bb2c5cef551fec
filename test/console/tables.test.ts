import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { brandId, cents, communityId, type SpaceId, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { CHROMIUM, openWindow, wrongOn } from './chromium.ts';
import { useDemoInChromium } from './demo-in-chromium.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const MONTH = inDays(60).slice(0, 7);
const LISTS = ['bookings?q=W', `charges?month=${MONTH}`] as const;
/** Widths with and without a menu beside the table, with rows as cards and as table rows. */
const WIDTHS = [320, 390, 703, 768, 895, 896, 1024, 1119, 1120, 1440] as const;

/** Runs in the page: the parts of the first row outside the screen or its own edges, and the number of its lines. */
const ROW = `(() => {
  const cells = [...document.querySelectorAll('.table tbody tr:first-child > *')].filter((cell) => cell.offsetParent !== null);
  const boxes = cells.map((cell) => cell.getBoundingClientRect());
  const middles = boxes.map(({ top, bottom }) => (top + bottom) / 2).sort((a, b) => a - b);
  return {
    cut: boxes.some(({ left, right }) => left < 0 || right > innerWidth),
    money: cells.some((cell) => /\\$/.test(cell.innerText)),
    lines: middles.filter((middle, index) => index === 0 || middle - middles[index - 1] > 12).length,
    isCard: getComputedStyle(document.querySelector('.table tbody tr')).display === 'grid',
  };
})()`;
type Row = { readonly cut: boolean; readonly money: boolean; readonly lines: number; readonly isCard: boolean };

describe.skipIf(lacks(CHROMIUM))('tables in Chromium', { timeout: 120_000 }, () => {
  const started = useDemoInChromium();
  let id: number;
  let space: SpaceId;

  beforeAll(async () => {
    const { catalogue, bookings } = started.running.service.core.commands;
    const terms = { windowStart: 9, windowEnd: 22, durationHours: 1, eventFee: cents(15_000_00), answerHours: 72 };
    space = accepted(
      await catalogue.addSpace({ ...terms, name: 'W'.repeat(200), communityId: communityId(1) }, CONTEXT),
    );
    const brand = accepted(
      await catalogue.addBrand({ name: 'Maison Lefèvre & Filles, Torréfacteurs depuis 1911, Bruxelles' }, CONTEXT),
    );
    const details = { spaceId: spaceId(space), date: inDays(60), startHour: 10 };
    id = accepted(await bookings.request({ brandId: brandId(brand.brandId), details }, CONTEXT)).bookingId;
    accepted(await bookings.approve({ bookingId: id, communityId: communityId(1) }, CONTEXT));
  });

  /** The windows that tests share, by name. */
  const windows = new Map<string, ReturnType<typeof openWindow>>();
  async function opened(width: number, path: string, script = true): Promise<Page> {
    const cookies = await started.signedIn(started.running.demo.communities[0].user);
    const { page } = await windows.getOrInsertComputed(`${width} ${script}`, () =>
      openWindow(started.browser, started.running.url, { width, colorScheme: 'light', script }, cookies),
    );
    await page.emulateMedia({ media: null });
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`/console/${path}`);
    return page;
  }

  test.each(LISTS)(
    '%s shows the amount and the link of every row at every width, as cards below 1,120 px',
    async (path) => {
      const page = await opened(1440, path);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        const row = await page.evaluate<Row>(ROW);
        expect(row, `${width} px`).toMatchObject({ cut: false, money: true, isCard: width < 1120 });
        if (width === 390) expect(row.lines).toBe(3);
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${width} px`).toBe(true);
        if (width === 390 || width === 1440) expect(await wrongOn(page), `${width} px`).toEqual([]);
      }
    },
  );

  test.each(LISTS)('a whole row of %s is a link for mouse, touch and keyboard', async (path) => {
    for (const width of [390, 1440]) {
      const page = await opened(width, path, false);
      // The area that the link of the row covers.
      const status = page.locator('tbody tr').first().locator('.status');
      await (width === 390 ? status.tap({ force: true }) : status.click({ force: true }));
      await page.waitForURL(`**/console/bookings/${id}`);
    }
    const page = await opened(1440, path);
    await page.locator('tbody a').first().focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/console/bookings/${id}`);
  });

  /** The texts of a table that extend beyond their row. Runs in the page. */
  const BEYOND = `[...document.querySelectorAll('.table tbody tr')].flatMap((row) => {
    const { left, right } = row.getBoundingClientRect();
    const texts = [...row.querySelectorAll('bdi')].filter((text) => {
      const at = text.getBoundingClientRect();
      return at.left < left || at.right > right + 1;
    });
    return texts.map((text) => text.textContent);
  })`;

  test('no title, name or reason of closed times and of an import is cut off, however long its words are', async () => {
    const { closures } = started.running.service.core.commands;
    const title = 'M'.repeat(200);
    const days = { from: inDays(90), to: inDays(90), start: 0, until: 24 };
    accepted(
      await closures.add({ communityId: communityId(1), spaceIds: [space], kind: 'Closure', ...days, title }, CONTEXT),
    );
    const page = await opened(390, 'calendar/closures/import');
    const csv = `date,start,end,space\n2036-01-11,18,20,${'M'.repeat(200)}\n`;
    const file = { name: 'events.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) };
    for (const table of ['import', 'closures']) {
      if (table === 'import') {
        await page.setInputFiles('input[type=file]', file);
        await page.getByRole('button', { name: 'Check the file' }).click();
        await page.getByText('1 line cannot be taken').waitFor();
      } else await page.goto('/console/calendar/closures');
      for (const width of [320, 390, 1024, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await page.locator('tbody bdi').count()).toBeGreaterThan(0);
        expect(await page.evaluate(BEYOND), `${table}, ${width} px`).toEqual([]);
      }
    }
  });

  test('the review summary shows each count beside its stars, on a phone too', async () => {
    const page = await opened(390, 'reviews');
    const lines = await page.evaluate<number[]>(`(() => {
      const tops = (selector) => [...document.querySelectorAll(selector)].map((each) => each.getBoundingClientRect().top);
      const counts = tops('.review-summary dd');
      return tops('.review-summary dt').map((top, index) => Math.round(counts[index] - top));
    })()`);
    expect(lines).toEqual([0, 0, 0, 0, 0]);
  });

  test.each(LISTS)('%s prints as the whole table with its account and time, without controls', async (path) => {
    const page = await opened(1440, path);
    await page.emulateMedia({ media: 'print' });
    // The width of A4 between the margins.
    await page.setViewportSize({ width: 703, height: 1000 });
    expect(await page.evaluate<Row>(ROW)).toMatchObject({ cut: false, money: true, isCard: false });
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(await page.locator('.printed').innerText()).toMatch(
      /^Harbour Lofts\s+\d+ \w+ \d{4}, \d\d:\d\d Berlin time$/,
    );
    for (const hidden of ['form', '.tabs', '.rail', '.pager', '.button', 'nav'])
      expect(await page.locator(`${hidden} >> visible=true`).count(), hidden).toBe(0);
    const pdf = (await page.pdf({ format: 'A4' })).toString('latin1');
    expect(pdf.match(/\/Type\s*\/Page\b/g)).toHaveLength(1);
  });
});
