import { randomBytes, randomUUID } from 'node:crypto';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { Logger } from 'pino';
import { API_SCOPES, MCP_SCOPES } from '../auth/scopes.ts';
import {
  type ChangeContext,
  createRecorder,
  type MembershipLog,
  UNLOGGED,
  UNLOGGED_INDEX,
  type WithUnlogged,
  withChanges,
} from '../auth/unlogged-changes.ts';
import type { Collection, DocumentStore, Find, Stored } from '../document-store/document-store.ts';
import { declareQuery, everyDocument } from '../document-store/queries.ts';
import { type Account, type AccountKey, AUTHORIZATION_SERVER, accountKey, accountOfKey } from '../domain/account.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { LABEL } from '../domain/limits.ts';
import { atMost, eachOf, openAccountQuota } from '../quotas/account-quota.ts';
import type { Clock } from '../runtime/clock.ts';
import { purposes } from '../secrets/purposes.ts';
import { seal, unseal } from '../secrets/seal.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { toAppName } from './app-name.ts';
import { requestContext } from './request-context.ts';
import type { Revocation } from './revocation.ts';

/** A confidential client, which acts for the account that created it without a user (`client_credentials`). */
type ConfidentialClient = {
  readonly clientId: string;
  readonly name: string;
  readonly account: AccountKey;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
};

/** Metadata field of a confidential client: the account it acts for. */
export const ACCOUNT_OF_CLIENT = 'account_id';

const UNUSED_TTL_MS = 24 * 60 * 60_000;

type ClientDocument = WithUnlogged & {
  readonly name: string;
  /** The client metadata (RFC 7591) with the secret, sealed. */
  readonly sealed: string;
  readonly account?: AccountKey;
  readonly createdAt: string;
  /** Only for a registered client that no user has allowed yet. */
  readonly expiresAt?: string;
  /** Set when the client is removed, until the log has the event. Lookups no longer find it. */
  readonly isRemoved?: true;
};

const CLIENTS: Collection<ClientDocument> = {
  name: 'oauthClients',
  kind: 'record',
  ttl: 'expiresAt',
  indexes: [{ fields: ['account'] }, UNLOGGED_INDEX],
};

const ofAccount = declareQuery(CLIENTS, (account: AccountKey): Find<ClientDocument> => ({ where: { account } }), [
  'Brand:1',
]);

const unlogged = declareQuery(CLIENTS, (): Find<ClientDocument> => UNLOGGED, []);

export type Clients = Awaited<ReturnType<typeof createClients>>;

export async function createClients(deps: {
  documents: DocumentStore;
  secretKey: SecretKey;
  clock: Clock;
  revocation: Revocation;
  log: MembershipLog;
  logger: Pick<Logger, 'error'>;
  /** Confidential clients an account may have. */
  clientsPerAccount: number;
}) {
  const { secretKey, clock, revocation } = deps;
  const clients = await deps.documents.open(CLIENTS);

  const sealed = (id: string, metadata: AdapterPayload) =>
    seal(secretKey, purposes.oauthClient(id), JSON.stringify(metadata));
  const open = (id: string, document: ClientDocument): AdapterPayload =>
    JSON.parse(unseal(secretKey, purposes.oauthClient(id), document.sealed));

  const isThere = ({ isRemoved, expiresAt }: ClientDocument): boolean =>
    isRemoved !== true && (expiresAt === undefined || Date.parse(expiresAt) > clock());

  async function get(id: string): Promise<Stored<ClientDocument> | undefined> {
    const stored = await clients.get(id);
    return stored !== undefined && isThere(stored.document) ? stored : undefined;
  }

  const { clientsPerAccount } = deps;
  const quota = await openAccountQuota<{ readonly clientId: string }>({
    documents: deps.documents,
    collection: { name: 'clientQuotas', kind: 'record', indexes: [] },
    idOf: ({ clientId }) => clientId,
    exist: eachOf(async ({ clientId }) => {
      const stored = await clients.get(clientId);
      return stored && isThere(stored.document);
    }),
    existing: (account) => Array.fromAsync(clients.find(ofAccount(account)), ({ key }) => ({ clientId: key })),
  });
  const oneMore = atMost(
    clientsPerAccount,
    `An account can have at most ${clientsPerAccount} service clients; remove one first.`,
  );

  const recorder = createRecorder({
    ...deps,
    records: clients,
    unlogged,
    isEnded: ({ isRemoved }) => isRemoved === true,
    async settle(_, { type, data }, context) {
      if (type === 'ClientRemoved') await revocation.endAllOfClient(data.clientId, context);
    },
  });

  /** Removes a client; with an account, only one that belongs to it. @returns false if there was none */
  async function remove(id: string, context: ChangeContext, account?: Account): Promise<boolean> {
    const client = (await get(id))?.document;
    if (client !== undefined && account !== undefined && client.account !== accountKey(account)) return false;
    const owner = accountOfKey(client?.account ?? '');
    if (client !== undefined && owner === undefined) {
      const isDeleted = await clients.delete(id);
      await revocation.endAllOfClient(id, context);
      return isDeleted;
    }
    const { isChanged } = await clients.update(id, (document) => {
      if (document === undefined || owner === undefined || !isThere(document)) return undefined;
      const change = { type: 'ClientRemoved', data: { changeId: randomUUID(), account: owner, clientId: id } } as const;
      return withChanges(removed(document), [change], context);
    });
    await recorder.finish(id);
    if (owner !== undefined) await quota.release(accountKey(owner), id);
    return isChanged;
  }

  /** Clients as oidc-provider sees them. */
  const adapter: Adapter = {
    async find(id) {
      const stored = await get(id);
      return stored && open(id, stored.document);
    },
    async upsert(id, metadata) {
      const now = clock();
      const registered: ClientDocument = {
        name: metadata.client_name ?? id,
        sealed: sealed(id, metadata),
        createdAt: new Date(now).toISOString(),
        expiresAt: new Date(now + UNUSED_TTL_MS).toISOString(),
      };
      if (!(await clients.insert(id, registered))) throw new Error(`Client ${id} already exists`);
    },
    async destroy(id) {
      await remove(id, { actor: AUTHORIZATION_SERVER, ...requestContext() });
    },
    findByUid: () => Promise.resolve(undefined),
    findByUserCode: () => Promise.resolve(undefined),
    consume: () => Promise.resolve(),
    revokeByGrantId: () => Promise.resolve(),
  };

  return {
    /**
     * Adds a client; its secret is returned only here. Refuses a name that is empty, too long, or has invisible characters
     * (`ValidationError`; docs/decisions/rest-api.md).
     */
    async addClient(
      { account, name: given }: { account: Account; name: string },
      context: ChangeContext,
    ): Promise<(ConfidentialClient & { readonly clientSecret: string }) | Refusal> {
      const name = toAppName('name', given, LABEL);
      if (typeof name !== 'string') return name;
      const clientId = `client_${randomBytes(12).toString('base64url')}`;
      const reserved = await quota.take(accountKey(account), () => ({ clientId }), oneMore);
      if (isRefusal(reserved)) return reserved;
      const clientSecret = randomBytes(32).toString('base64url');
      const createdAt = new Date(clock()).toISOString();
      const metadata: AdapterPayload = {
        client_id: clientId,
        client_secret: clientSecret,
        client_name: name,
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
        token_endpoint_auth_method: 'client_secret_basic',
        scope: [...API_SCOPES, ...MCP_SCOPES].join(' '),
        [ACCOUNT_OF_CLIENT]: accountKey(account),
      };
      const document = { name, account: accountKey(account), createdAt, sealed: sealed(clientId, metadata) };
      const change = { type: 'ClientAdded', data: { changeId: randomUUID(), account, clientId, name } } as const;
      if (!(await clients.insert(clientId, withChanges<ClientDocument>(document, [change], context))))
        throw new Error(`Client ${clientId} already exists`);
      await recorder.finish(clientId);
      return { clientId, clientSecret, name, account: document.account, createdAt };
    },

    /** The confidential clients of an account, or of all accounts. */
    async listClients(account?: Account): Promise<ConfidentialClient[]> {
      const confidential: ConfidentialClient[] = [];
      const wanted = account === undefined ? everyDocument<ClientDocument>() : ofAccount(accountKey(account));
      for await (const { key, document } of clients.find(wanted)) {
        const { name, account: owner, createdAt } = document;
        if (owner !== undefined) confidential.push({ clientId: key, name, account: owner, createdAt });
      }
      return confidential.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
    },

    removeClient: remove,
    /** Finishes interrupted removals, and records changes that are not in the log yet. */
    finishChanges: recorder.finishAll,

    /** A client's display name. One with a metadata document is named by its host, the only thing that was verified. */
    async nameOf(clientId: string): Promise<string | undefined> {
      return (await get(clientId))?.document.name ?? URL.parse(clientId)?.host;
    },

    /** Keeps a registered client that a user has allowed. The others are removed a day after their registration. */
    async keep(clientId: string): Promise<void> {
      await clients.update(clientId, (document) => {
        if (document?.expiresAt === undefined || !isThere(document)) return undefined;
        const { expiresAt: _, ...client } = document;
        return client;
      });
    },

    /** Whether a client is registered and a user has allowed it. */
    async isAllowed(clientId: string): Promise<boolean> {
      const stored = await get(clientId);
      return stored !== undefined && stored.document.expiresAt === undefined;
    },

    adapter,
  };
}

/** A removed client until its event is in the log. It no longer belongs to the account, and has no secret. */
const removed = ({ createdAt, unlogged: changes }: ClientDocument): ClientDocument => ({
  name: '',
  sealed: '',
  createdAt,
  isRemoved: true,
  ...defined({ unlogged: changes }),
});
