import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createOidcAdapter } from '../../src/authorization-server/oidc-adapter.ts';
import { createRevocation } from '../../src/authorization-server/revocation.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { everyDocument } from '../../src/document-store/queries.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR, createChangeLog, NO_LOGGER } from '../auth/change-log.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { BRAND, PASSWORD, type RunningServer, runServer } from './running-server.ts';
import { TestApp } from './test-app.ts';

const secretKey = randomBytes(32);

describe.each(documentEngines)('events about apps and clients, on %s', (_name, createDatabase) => {
  let database: TestDatabase;
  let documents: OperatedDocumentStore;
  let running: RunningServer;
  let consent: { email: string; password: string; account: string };

  beforeAll(async () => {
    database = await createDatabase();
    documents = await database.open();
    running = await runServer(documents, { secretKey });
  });
  afterAll(async () => {
    await running.close();
    await database.remove();
  });
  beforeEach(() => {
    running.told.length = 0;
    running.logFails(false);
    consent = { email: running.user.email, password: PASSWORD, account: 'Brand:7' };
  });

  const told = () => running.told.map(({ change: { type, data }, context }) => ({ type, ...data, by: context.actor }));
  const grantsOf = (app: TestApp) =>
    running.server.connectedApps
      .grantsOf({ account: BRAND })
      .then((grants) => grants.filter(({ clientId }) => clientId === app.id));

  test('connecting an app appends an event, and so does granting it more scopes; registering it does not', async () => {
    const app = await TestApp.register(running.url);
    expect(told()).toEqual([]);
    await app.tokens({ ...consent, scope: 'openid service.api.read' });
    const connected = {
      type: 'AppConnected',
      userId: running.user.id,
      clientId: app.id,
      account: BRAND,
      by: { kind: 'user', id: running.user.id, account: BRAND },
    };
    expect(told()).toMatchObject([{ ...connected, scopes: ['openid', 'service.api.read'] }]);
    // The id of the request with which the user allowed it.
    expect(running.told[0]?.context.correlationId).toMatch(/^req-/);

    await app.tokens({ ...consent, scope: 'openid service.api.read service.api.write' });
    const [{ grantId } = { grantId: '' }] = await grantsOf(app);
    expect(told().slice(1)).toMatchObject([
      { ...connected, grantId, scopes: ['openid', 'service.api.read', 'service.api.write'] },
    ]);
    expect(JSON.stringify(told())).not.toContain(running.user.email);
  });

  test('records who ended a grant', async () => {
    const connected = async () => {
      const app = await TestApp.register(running.url);
      const tokens = await app.tokens(consent);
      running.told.length = 0;
      return { app, tokens };
    };
    const ended = (app: TestApp) => ({
      type: 'AppDisconnected',
      clientId: app.id,
      userId: running.user.id,
      account: BRAND,
    });

    const first = await connected();
    const [grant] = await grantsOf(first.app);
    const byUser = { actor: { kind: 'user', id: 'usr_1', account: BRAND }, correlationId: 'request' } as const;
    await running.server.connectedApps.revokeGrant(grant?.grantId ?? '', { account: BRAND }, byUser);
    expect(told()).toMatchObject([{ ...ended(first.app), grantId: grant?.grantId, by: byUser.actor }]);

    const second = await connected();
    const body = new URLSearchParams({ token: second.tokens.refresh_token ?? '', client_id: second.app.id });
    const revoked = await fetch(`${running.url}/connect/revoke`, { method: 'POST', body });
    expect(told()).toMatchObject([{ ...ended(second.app), by: { kind: 'client', id: second.app.id, account: BRAND } }]);
    expect(running.told.map(({ context }) => context.correlationId)).toEqual([revoked.headers.get('x-request-id')]);

    const third = await connected();
    await third.app.refresh(third.tokens.refresh_token);
    running.shift(11_000);
    await expect(third.app.refresh(third.tokens.refresh_token)).rejects.toThrow();
    running.shift(0);
    expect(told()).toMatchObject([{ ...ended(third.app), by: { kind: 'system', id: 'authorization-server' } }]);

    const fourth = await connected();
    await running.server.clients.removeClient(fourth.app.id, BY_OPERATOR);
    expect(told()).toMatchObject([{ ...ended(fourth.app), by: BY_OPERATOR.actor }]);
  });

  test('records under one request id that a user left an account and which apps were disconnected', async () => {
    const user = accepted(
      await running.users.add(
        { email: 'leaver@example.com', password: PASSWORD, accounts: [BRAND, { ...BRAND, id: 8 as never }] },
        BY_OPERATOR,
      ),
    );
    const app = await TestApp.register(running.url);
    await app.tokens({ ...consent, email: user.email });
    running.told.length = 0;
    await running.users.removeAccount(user.id, BRAND, { ...BY_OPERATOR, correlationId: 'leaving' });
    expect(told().map(({ type }) => type)).toEqual(['AppDisconnected', 'MemberRemoved']);
    expect(running.told.map(({ context }) => context.correlationId)).toEqual(['leaving', 'leaving']);
  });

  test('records the creation and removal of an account’s own client, without its secret', async () => {
    const { clients } = running.server;
    const added = accepted(await clients.addClient({ account: BRAND, name: 'Nightly import' }, BY_OPERATOR));
    expect(await clients.removeClient(added.clientId, BY_OPERATOR, { ...BRAND, id: 8 as never })).toBe(false);
    expect(await clients.removeClient(added.clientId, BY_OPERATOR, BRAND)).toBe(true);
    expect(await clients.removeClient(added.clientId, BY_OPERATOR, BRAND)).toBe(false);
    expect(told()).toMatchObject([
      { type: 'ClientAdded', clientId: added.clientId, account: BRAND, name: 'Nightly import' },
      { type: 'ClientRemoved', clientId: added.clientId, account: BRAND },
    ]);
    expect(JSON.stringify(told())).not.toContain(added.clientSecret);
  });

  test('while the log is down, apps and clients lose access at once, and the events follow later', async () => {
    const { clients, connectedApps, accessTokens } = running.server;
    running.logFails(true);
    const app = await TestApp.register(running.url);
    const tokens = await app.tokens(consent);
    const [grant] = await grantsOf(app);
    await connectedApps.revokeGrant(grant?.grantId ?? '', { account: BRAND }, BY_OPERATOR);
    expect(await grantsOf(app)).toEqual([]);
    expect(await accessTokens.authenticate(tokens.access_token)).toBeUndefined();
    await expect(app.refresh(tokens.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' });
    expect(await connectedApps.revokeGrant(grant?.grantId ?? '', { account: BRAND }, BY_OPERATOR)).toBe(false);

    const added = accepted(await clients.addClient({ account: BRAND, name: 'Import' }, BY_OPERATOR));
    await clients.removeClient(added.clientId, BY_OPERATOR, BRAND);
    expect(await clients.listClients()).toEqual([]);
    expect(await clients.nameOf(added.clientId)).toBeUndefined();

    expect(told()).toEqual([]);
    running.logFails(false);
    await running.finishChanges();
    await running.finishChanges();
    expect(told().map(({ type }) => type)).toEqual(['ClientAdded', 'ClientRemoved', 'AppConnected', 'AppDisconnected']);
    for (const name of ['oauthClients', 'oauthArtefacts']) {
      const records = await documents.open<object>({ name, kind: 'record', indexes: [] });
      const left = JSON.stringify(await Array.fromAsync(records.find(everyDocument())));
      for (const gone of [added.clientId, 'EndedGrant', 'changeId']) expect(left).not.toContain(gone);
    }
  });

  test('an ended grant is gone in every process, even before its event is appended', async () => {
    const app = await TestApp.register(running.url);
    await app.tokens(consent);
    const [grant] = await grantsOf(app);
    const grantId = grant?.grantId ?? '';
    running.logFails(true);
    await running.server.connectedApps.revokeGrant(grantId, { account: BRAND }, BY_OPERATOR);
    const { adapter, exists } = await createOidcAdapter({
      documents,
      secretKey,
      clock: Date.now,
      revocation: await createRevocation({ documents, log: createChangeLog(), clock: Date.now, logger: NO_LOGGER }),
    });
    expect(await exists('Grant', grantId)).toBe(false);
    expect(await adapter('Grant').find(grantId)).toBeUndefined();
    // A token in progress when the grant ends is not issued.
    const token = { grantId, accountId: running.user.id, clientId: app.id };
    await expect(adapter('AccessToken').upsert('late', token, 60)).rejects.toThrow();
    expect(await adapter('AccessToken').find('late')).toBeUndefined();
    running.logFails(false);
    await running.finishChanges();
  });
});
