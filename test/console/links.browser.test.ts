import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { communityId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { CHROMIUM, openWindow, wrongOn } from './chromium.ts';
import { useDemoInChromium } from './demo-in-chromium.ts';

const PASSWORD = 'correct horse battery';

describe.skipIf(lacks(CHROMIUM))('links in Chromium, by keyboard alone', { timeout: 120_000 }, () => {
  const started = useDemoInChromium();

  /** Presses Tab until the element with this name has the focus. */
  async function tabTo(page: Page, name: string): Promise<void> {
    for (let stops = 0; stops < 60; stops += 1) {
      await page.keyboard.press('Tab');
      const focused = page.locator(':focus');
      const label = (await focused.getAttribute('aria-label')) ?? (await focused.textContent()) ?? '';
      if (label.trim() === name) return;
      const id = await focused.getAttribute('id');
      if (id !== null && (await page.locator(`label[for="${id}"]`).allTextContents()).includes(name)) return;
    }
    throw new Error(`Tab does not lead to "${name}" on ${page.url()}`);
  }

  test.each([true, false])('a stranger accepts an invitation, script: %s', async (script) => {
    const { core } = started.running.service;
    const account = { kind: 'Community', id: communityId(started.running.demo.communities[0].id) } as const;
    const email = `script-${script}@example.com`;
    const invitation = accepted(
      await core.invitations.invite({ account, role: 'Viewer', email }, undefined, BY_OPERATOR),
    );
    const screen = { width: 390, colorScheme: 'dark', script } as const;
    const { context, page, complaints } = await openWindow(started.browser, started.running.url, screen);
    await page.goto(core.invitations.mailed(invitation).url);
    // The password has the focus already.
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/console/overview');
    expect(await page.getByText('You are a member of').isVisible()).toBe(true);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test.each([
    { width: 390, script: true, colorScheme: 'light' },
    { width: 1440, script: false, colorScheme: 'dark' },
  ] as const)('a planner signs up and asks for a room: $width px, script: $script', async (screen) => {
    const { core } = started.running.service;
    const email = `planner-${screen.width}@example.com`;
    const [space] = started.running.demo.communities[0].spaces;
    const { context, page, complaints } = await openWindow(started.browser, started.running.url, screen);
    const startHour = screen.script ? 12 : 18;
    const message = 'Two long tables, please';
    const query = new URLSearchParams({ space: `${space.id}`, date: inDays(30), startHour: `${startHour}`, message });
    await page.goto(`/sign-up?${query}`);
    if (screen.script) expect(await wrongOn(page)).toEqual([]);
    // The name has the focus already.
    await page.keyboard.type('Fern & Co');
    await tabTo(page, 'E-mail');
    await page.keyboard.type(email);
    await tabTo(page, 'Password');
    await page.keyboard.type('short');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    if (screen.script) expect(await wrongOn(page)).toEqual([]);
    await tabTo(page, 'Password');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/sign-up/sent');
    const link = await eventually(async () => {
      const mail = (await core.mail.inbox?.list())?.find(({ to }) => to === email);
      return /http\S+confirm\?link=\S+/.exec(mail?.text ?? '')?.[0] ?? expect.fail('no mail yet');
    });
    await page.goto(link);
    if (screen.script) expect(await wrongOn(page)).toEqual([]);
    await tabTo(page, 'Confirm');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/console/bookings/*');
    expect(await page.getByText('your request was sent').isVisible()).toBe(true);
    expect(await page.getByText(message).first().isVisible()).toBe(true);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a forgotten password is set from the sign-in page on, without script', async () => {
    const { core } = started.running.service;
    const account = { kind: 'Community', id: communityId(started.running.demo.communities[0].id) } as const;
    const email = 'keys@example.com';
    const user = accepted(
      await core.users.add({ email, password: 'one that is forgotten', accounts: [account] }, BY_OPERATOR),
    );
    const screen = { width: 1280, colorScheme: 'light', script: false } as const;
    const { context, page, complaints } = await openWindow(started.browser, started.running.url, screen);
    await page.goto('/console');
    await tabTo(page, 'Forgot your password?');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/password/forgotten');
    await page.keyboard.type(email);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/forgotten/sent');
    await page.goto(core.passwordReset.mailed(user, core.clock()).url);
    await page.keyboard.type('short');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/password/new/done');
    expect(await core.users.verifyPassword(email, PASSWORD)).toMatchObject({ id: user.id });
    expect(complaints).toEqual([]);
    await context.close();
  });
});
