import type { Resources } from '../auth/resources.ts';
import { AUDIENCE_SCOPES, type Audience } from '../auth/scopes.ts';
import type { ChangeContext } from '../auth/unlogged-changes.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import { isObject } from '../domain/is-object.ts';
import type { Clients } from './clients.ts';
import { accountOfGrant } from './grant-id.ts';
import type { OidcAdapter } from './oidc-adapter.ts';
import type { Revocation } from './revocation.ts';

/** An app that a user has allowed to act for an account. */
type ConnectedApp = {
  readonly grantId: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly account: AccountKey;
  readonly userId: string;
  readonly audiences: readonly Audience[];
  readonly scopes: readonly string[];
  /** ISO 8601, UTC. */
  readonly connectedAt: string;
};

type Owner = { readonly account: Account } | { readonly userId: string };

export function createConnectedApps(deps: {
  oidcAdapter: OidcAdapter;
  clients: Clients;
  resources: Resources;
  revocation: Revocation;
}) {
  const { oidcAdapter, clients, resources, revocation } = deps;

  /** The apps connected to an account by any user, or by one user to any account. Oldest first. */
  async function grantsOf(owner: Owner): Promise<ConnectedApp[]> {
    const grants = await oidcAdapter.grantsOf(
      'account' in owner ? { account: accountKey(owner.account) } : { userId: owner.userId },
    );
    const apps: ConnectedApp[] = [];
    for (const { id, createdAt, payload } of grants) {
      const account = accountOfGrant(id);
      // The console's own grants have no account and are not listed.
      if (account === undefined || payload.clientId === undefined || payload.accountId === undefined) continue;
      const granted = grantedResources(payload, resources);
      apps.push({
        grantId: id,
        clientId: payload.clientId,
        clientName: (await clients.nameOf(payload.clientId)) ?? payload.clientId,
        account,
        userId: payload.accountId,
        audiences: granted.map(({ audience }) => audience),
        scopes: granted.flatMap(({ scopes }) => scopes),
        connectedAt: createdAt,
      });
    }
    return apps;
  }

  return {
    grantsOf,

    /** Disconnects an app; its tokens stop working at once. @returns false if it is not connected to that owner */
    async revokeGrant(grantId: string, owner: Owner, context: ChangeContext): Promise<boolean> {
      const owned = (await grantsOf(owner)).some((app) => app.grantId === grantId);
      return owned ? revocation.endGrant(grantId, context) : false;
    },

    /** Whether a client may act for an account: it belongs to the account, or a user connected it. */
    async isConnected(clientId: string, account: Account): Promise<boolean> {
      const grants = await oidcAdapter.grantsOf({ account: accountKey(account) });
      if (grants.some(({ payload }) => payload.clientId === clientId)) return true;
      return (await clients.listClients(account)).some((client) => client.clientId === clientId);
    },
  };
}

function grantedResources(payload: Readonly<Record<string, unknown>>, resources: Resources) {
  const granted = isObject(payload.resources) ? payload.resources : {};
  return Object.entries(granted).flatMap(([uri, scope]) => {
    const audience = resources.named(uri)?.audience;
    if (audience === undefined || typeof scope !== 'string') return [];
    return [{ audience, scopes: scope.split(' ').filter((name) => AUDIENCE_SCOPES[audience].includes(name)) }];
  });
}
