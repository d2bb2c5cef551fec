import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { PASSWORD, type RunningServer, runServer } from './running-server.ts';
import { TestApp } from './test-app.ts';

const DAY_MS = 24 * 3_600_000;

describe.each(documentEngines)('a connected app on %s', (_name, createDatabase) => {
  let database: TestDatabase;
  let running: RunningServer;
  let app: TestApp;
  let passed: number;
  beforeEach(async () => {
    database = await createDatabase();
    running = await runServer(await database.open(), { secretKey: randomBytes(32) });
    app = await TestApp.register(running.url);
    passed = 0;
  });
  afterEach(async () => {
    vi.useRealTimers();
    await running.close();
    await database.remove();
  });

  /** Advances the clock of the service and of oidc-provider, which run in this process. */
  function wait(days: number) {
    if (!vi.isFakeTimers()) vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    passed += days;
    vi.setSystemTime(Date.now() + days * DAY_MS);
    // The service's clock is the real one, shifted.
    running.shift(0);
  }

  const connect = async () =>
    (await app.tokens({ email: running.user.email, password: PASSWORD, account: 'Brand:7' })).refresh_token;

  test('stays connected for years as long as it refreshes its tokens', async () => {
    let token = await connect();
    while (passed < 3 * 365) {
      wait(29);
      const refreshed = await app.refresh(token);
      token = refreshed.refresh_token;
      expect(await running.server.accessTokens.authenticate(refreshed.access_token)).toMatchObject({ permissions: 15 });
    }
    const { length } = await running.server.connectedApps.grantsOf({ userId: running.user.id });
    expect(length).toBe(1);
  });

  test('needs consent again after 30 days without a refresh', async () => {
    const token = await connect();
    wait(31);
    await expect(app.refresh(token)).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  test('stays disconnected when it is disconnected during a refresh', async () => {
    const token = await connect();
    wait(29);
    const [grant] = await running.server.connectedApps.grantsOf({ userId: running.user.id });
    const refreshing = Promise.allSettled([app.refresh(token)]);
    await running.server.connectedApps.revokeGrant(grant?.grantId ?? '', { userId: running.user.id }, BY_OPERATOR);
    const [refreshed] = await refreshing;
    expect(await running.server.connectedApps.grantsOf({ userId: running.user.id })).toEqual([]);
    if (refreshed?.status === 'fulfilled')
      await expect(app.refresh(refreshed.value.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' });
  });
});
