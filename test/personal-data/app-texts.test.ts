import { afterAll, beforeAll, expect, test } from 'vitest';
import { brandId, spaceId } from '../../src/domain/ids.ts';
import { subjectOfUser } from '../../src/domain/personal-text.ts';
import { accepted } from '../accepted.ts';
import { TestApp } from '../authorization-server/test-app.ts';
import { type Running, startDemo } from '../console/console.fixture.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT } from '../running-service.fixture.ts';

let running: Running;
beforeAll(async () => {
  running = await startDemo({ ROLES: 'api,projector' });
});
afterAll(() => running.stop());

test('what an app of a user writes over REST belongs to the user, and is erased with the user', async () => {
  const { core } = running.service;
  const { email, password } = running.demo.brands[0].user;
  const app = await TestApp.register(running.url);
  const { access_token } = await app.tokens({ email, password, account: 'Brand:1' });
  const details = { spaceId: spaceId(1), date: inDays(60), startHour: 10 };
  const { bookingId } = accepted(await core.commands.bookings.request({ brandId: brandId(1), details }, CONTEXT));
  const call = (path: string, body?: object) =>
    fetch(`${running.url}/api/v1/bookings/${bookingId}/${path}`, {
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
  expect((await call('move', { startHour: 12, reason: 'My train is late' })).status).toBe(200);
  expect((await call('move/decline', { reason: 'My train came' })).status).toBe(200);
  const history = async () => (await call('history')).text();
  expect(await history()).toMatch(/My train is late.*My train came/);
  const userId = (await core.users.byEmail(email))?.id ?? '';
  accepted(await core.commands.personalData.forget(subjectOfUser(userId), CONTEXT));
  expect(await history()).not.toContain('My train');
});
