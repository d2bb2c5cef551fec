import { expect, onTestFinished, test } from 'vitest';
import { TestApp } from '../authorization-server/test-app.ts';
import { Browser } from '../browser.ts';
import { startDemo } from '../console/console.fixture.ts';

/** CLOCK_SHIFT moves the service's clock but not oidc-provider's, so issuing and verifying tokens must use the same one. */
test.each(['P3D', '-P3D'])(
  'with CLOCK_SHIFT=%s, users can sign in and tokens are valid until they expire',
  async (shift) => {
    const running = await startDemo({ CLOCK_SHIFT: shift });
    onTestFinished(() => running.stop());
    const [brand] = running.demo.brands;

    const app = await TestApp.register(running.url);
    const tokens = await app.tokens({ ...brand.user, account: `Brand:${brand.id}` });
    const renewed = await app.refresh(tokens.refresh_token);
    for (const token of [tokens.access_token, renewed.access_token]) {
      const headers = { authorization: `Bearer ${token}` };
      expect((await fetch(`${running.url}/api/v1/bookings`, { headers })).status).toBe(200);
    }

    const browser = new Browser(running.url);
    await browser.signIn(brand.user);
    expect(await browser.open('/console/bookings')).toMatchObject({
      status: 200,
      title: expect.not.stringContaining('Sign'),
    });
  },
);
