import { beforeAll, describe, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { communityId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { lacks } from '../lacks.ts';
import { CHROMIUM, openWindow } from './chromium.ts';
import { useDemoInChromium } from './demo-in-chromium.ts';

describe.skipIf(lacks(CHROMIUM))('open pages of a member whose role changes', { timeout: 60_000 }, () => {
  const started = useDemoInChromium();
  let account: Account;
  let numbers = 0;
  beforeAll(async () => {
    account = { kind: 'Community', id: communityId(started.running.demo.communities[0].id) };
  });

  /** A page of a new Manager. */
  async function openedBy(path: string) {
    numbers += 1;
    const user = { email: `m${numbers}@example.com`, password: 'correct horse battery' };
    const { users } = started.running.service.core;
    const { id } = accepted(await users.add({ ...user, accounts: [account] }, BY_OPERATOR));
    const screen = { width: 1280, colorScheme: 'light', script: true } as const;
    const { page, context } = await openWindow(
      started.browser,
      started.running.url,
      screen,
      await started.signedIn(user),
    );
    const connected = page.waitForResponse((response) => response.url().includes('/console/live'));
    await page.goto(path);
    await connected;
    const becomes = async (role: 'Viewer' | 'Manager') => accepted(await users.setRole(id, account, role, BY_OPERATOR));
    return { page, context, becomes };
  }
  const NOTICE = 'Your role has changed. Reload this page.';

  test('say so, and their forms do nothing', async () => {
    const { page, context, becomes } = await openedBy('/console/inbox');
    // The form is in use, so it is not replaced.
    await page.getByText('Decline…').first().click();
    await page.getByLabel('Reason').first().fill('No');
    await becomes('Viewer');
    await page.getByText(NOTICE).waitFor();
    // Nothing moves under the reader; the notice offers the page without what is not allowed.
    await page.locator('.to-decline .button.danger').first().click();
    await page.getByText('Only a Manager or a Coordinator may do this').waitFor();
    await page.goto('/console/inbox');
    expect(await page.getByRole('button', { name: /Approve|Decline/ }).count()).toBe(0);
    await context.close();
  });

  test('say so where the role no longer allows the page, once', async () => {
    const { page, context, becomes } = await openedBy('/console/keys');
    await becomes('Viewer');
    await page.getByText(NOTICE).waitFor();
    await becomes('Manager');
    await becomes('Viewer');
    await page.waitForResponse((response) => response.status() === 403);
    expect(await page.getByText(NOTICE).count()).toBe(1);
    await page.reload();
    await page.getByText('Your role does not allow this').waitFor();
    await context.close();
  });
});
