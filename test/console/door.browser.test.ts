import { describe, expect, test } from 'vitest';
import { communityOf } from '../../src/domain/account.ts';
import { localDate } from '../../src/domain/calendar.ts';
import { cents, communityId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { eventually } from '../eventually.ts';
import { lacks } from '../lacks.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { CHROMIUM, openWindow, wrongOn } from './chromium.ts';
import { useDemoInChromium } from './demo-in-chromium.ts';

const TERMS = { windowStart: 8, windowEnd: 22, durationHours: 1, eventFee: cents(10_000), answerHours: 72 };

describe.skipIf(lacks(CHROMIUM))('a screen at a door in Chromium', { timeout: 120_000 }, () => {
  const started = useDemoInChromium();

  test('shows what changes, keeps the last sheet while the service is away and says so, and ends with its address', async () => {
    const { core } = started.running.service;
    const [house] = started.running.demo.communities;
    const account = communityOf({ communityId: communityId(house.id) });
    const details = { ...TERMS, name: 'Attic', communityId: account.id };
    const spaceId = accepted(await core.commands.catalogue.addSpace(details, CONTEXT));
    const desk = { email: 'desk@example.com', password: 'correct horse battery', accounts: [account] };
    const { id: userId } = accepted(await core.users.add(desk, BY_OPERATOR));
    const wanted = { userId, account, spaceId, showsNames: true, isDoor: true } as const;
    const { secret, feedId } = accepted(await core.commands.calendarFeeds.add(wanted, CONTEXT));
    const screen = { width: 1440, colorScheme: 'light', script: true } as const;
    const { context, page } = await openWindow(started.browser, started.running.url, screen);
    const main = page.locator('main');
    const shown = (text: string) =>
      eventually(async () => {
        await page.clock.runFor(31_000);
        expect(await main.textContent()).toContain(text);
      });
    await page.clock.install();
    await page.goto(`/door/${secret}`);
    expect(await main.textContent()).toContain('Free today');

    const today = localDate(Date.now(), house.timeZone);
    const event = { kind: 'OwnEvent', title: 'Rehearsal', from: today, to: today, start: 0, until: 24 } as const;
    accepted(await core.commands.closures.add({ ...event, communityId: account.id, spaceIds: [spaceId] }, CONTEXT));
    await shown('Rehearsal');

    await context.setOffline(true);
    await shown('Not updated for');
    expect(await main.textContent()).toContain('Rehearsal');
    expect(await wrongOn(page)).toEqual([]);
    await context.setOffline(false);
    await eventually(async () => {
      await page.clock.runFor(31_000);
      expect(await main.textContent()).not.toContain('Not updated');
    });

    expect(await core.commands.calendarFeeds.revoke({ feedId, by: account }, CONTEXT)).toBeUndefined();
    await shown('There is no such page');
    await context.close();
  });
});
