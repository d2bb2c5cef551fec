import type { Account } from '../../src/domain/account.ts';
import { ALL_PERMISSIONS } from '../../src/domain/permissions.ts';
import { ROLES } from '../../src/domain/roles.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { API_SCOPE, TestApp } from '../authorization-server/test-app.ts';
import { Browser } from '../browser.ts';
import { CONTEXT, type RunningService } from '../running-service.fixture.ts';

const PASSWORD = 'correct horse battery';

/** A caller by its credential. */
export type Caller = { readonly name: string; readonly headers: Readonly<Record<string, string>> };

type Party = { readonly name: string; readonly account: Account };

/** Callers with each kind of credential, for each of these accounts and with each role: those that work, and those that do not any more. */
export async function createCallers(
  service: RunningService,
  {
    url,
    parties,
    suspended,
  }: { readonly url: string; readonly parties: readonly Party[]; readonly suspended: Account },
): Promise<readonly Caller[]> {
  const { core } = service;
  const { clients } = core.authorizationServer;
  let people = 0;

  async function addUser(account: Account, role: (typeof ROLES)[number] = 'Manager') {
    people += 1;
    const user = { email: `person-${people}@example.com`, password: PASSWORD };
    const { id } = accepted(await core.users.add({ ...user, accounts: [account], role }, BY_OPERATOR));
    return { ...user, id };
  }

  async function sessionOf(user: { readonly email: string; readonly password: string }) {
    const browser = new Browser(url);
    const { status } = await browser.signIn(user);
    if (status !== 200) throw new Error(`${user.email} cannot sign in`);
    return { cookie: `console=${browser.cookie('console')}` };
  }

  async function tokenOf(account: Account, resource: 'api' | 'mcp') {
    const { clientId, clientSecret } = accepted(await clients.addClient({ account, name: 'Nightly' }, CONTEXT));
    const answer = await fetch(`${url}/connect/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource }),
    });
    const { access_token: token } = Object(await answer.json());
    if (typeof token !== 'string') throw new Error(`There is no token for ${resource}`);
    return bearer(token);
  }

  const callers: Caller[] = [
    { name: 'nobody', headers: {} },
    { name: 'a session that never was', headers: { cookie: 'console=x' } },
    { name: 'a cookie that is none', headers: { cookie: 'console=%%%; ;=' } },
    { name: 'an empty bearer', headers: { authorization: 'Bearer ' } },
    { name: 'a key that never was', headers: bearer('vbs_live_0000000000000000000000000000000000000000') },
    { name: 'a token that never was', headers: bearer('eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1c3JfMSJ9.') },
    { name: 'a password', headers: { authorization: `Basic ${btoa(`person-1@example.com:${PASSWORD}`)}` } },
  ];
  const add = (name: string, headers: Caller['headers']) => void callers.push({ name, headers });

  for (const { name, account } of parties) {
    for (const role of ROLES) add(`a session of a ${role} of ${name}`, await sessionOf(await addUser(account, role)));
    for (const permissions of [ALL_PERMISSIONS, 1])
      add(`a key of ${name} with the permissions ${permissions}`, bearer(await service.key(account, permissions)));
    for (const resource of ['api', 'mcp'] as const)
      add(`a token of ${name} for ${resource}`, await tokenOf(account, resource));
    const app = await TestApp.register(url);
    const user = await addUser(account);
    const consent = { ...user, account: `${account.kind}:${account.id}`, scope: API_SCOPE };
    add(`an app of ${name}`, bearer((await app.tokens(consent)).access_token));
  }

  const leaving = await addUser(parties[0]?.account ?? suspended);
  add('a session of a user who was removed', await sessionOf(leaving));
  await core.users.remove(leaving.id, BY_OPERATOR);
  const { account } = parties[0] ?? { account: suspended };
  const revoked = accepted(await core.commands.apiKeys.issue({ account, permissions: 31, label: 'Old' }, CONTEXT));
  add('a key that was revoked', bearer(revoked.key));
  accepted(await core.commands.apiKeys.revoke({ apiKeyId: revoked.apiKeyId, by: account }, CONTEXT));
  add('a session of a suspended brand', await sessionOf(await addUser(suspended)));
  add('a key of a suspended brand', bearer(await service.key(suspended)));
  add('a token of a suspended brand', await tokenOf(suspended, 'api'));
  return callers;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
