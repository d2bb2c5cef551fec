import { randomUUID } from 'node:crypto';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { type ChangeContext, withChanges } from '../auth/unlogged-changes.ts';
import type { DocumentStore } from '../document-store/document-store.ts';
import { type AccountKey, type Actor, AUTHORIZATION_SERVER, accountOfKey } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import type { AppConnected } from '../domain/events.ts';
import { isObject } from '../domain/is-object.ts';
import type { Clock } from '../runtime/clock.ts';
import { purposes } from '../secrets/purposes.ts';
import { seal, unseal } from '../secrets/seal.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { accountOfGrant } from './grant-id.ts';
import { invalidGrant, oidcProvider } from './oidc-provider.ts';
import { ENDED_GRANT, OIDC_RECORDS, type OidcRecord, oidcRecordKey, withField } from './oidc-record.ts';
import { createParallelUses } from './parallel-uses.ts';
import { requestContext } from './request-context.ts';
import type { Revocation } from './revocation.ts';

type StoredGrant = {
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly payload: AdapterPayload;
};

export type OidcAdapter = Awaited<ReturnType<typeof createOidcAdapter>>;

/** Stores oidc-provider's sessions, codes, tokens and grants. */
export async function createOidcAdapter(deps: {
  documents: DocumentStore;
  revocation: Revocation;
  secretKey: SecretKey;
  clock: Clock;
}) {
  const { revocation, secretKey, clock } = deps;
  const records = await deps.documents.open(OIDC_RECORDS);

  const open = (key: string, { sealed, consumedAt }: OidcRecord): AdapterPayload => ({
    ...JSON.parse(unseal(secretKey, purposes.oidcRecord(key), sealed)),
    // oidc-provider only checks whether `consumed` is set.
    ...defined({ consumed: consumedAt === undefined ? undefined : true }),
  });

  /** Whether a record still exists. */
  const exists = async (model: string, id: string): Promise<boolean> =>
    isThere((await records.get(oidcRecordKey(model, id)))?.document);

  /** Stores a grant, and records in the log what the user allowed. */
  async function saveGrant(id: string, key: string, record: OidcRecord, payload: AdapterPayload): Promise<void> {
    const scopes = scopesOf(payload);
    await records.update(key, (stored) => {
      const before = isThere(stored) ? scopesOf(open(key, stored)) : new Set<string>();
      const change = scopes.isSubsetOf(before) ? undefined : connection(id, record, [...scopes]);
      const { createdAt = record.createdAt, unlogged, isUnlogged } = stored ?? {};
      const next = { ...record, createdAt, ...defined({ unlogged, isUnlogged }) };
      return change === undefined ? next : withChanges(next, [change], byUser(change.data));
    });
    await revocation.finishGrant(id);
  }

  async function upsert(model: string, id: string, payload: AdapterPayload, expiresIn: number) {
    // A session without a user holds nothing, and each anonymous sign-out request would create one (`sign-out.ts`).
    if (model === 'Session' && payload.accountId === undefined) return;
    // An ID token that comes with a refresh carries no nonce (OpenID Connect Core 1.0, 12.2).
    if (model === 'RefreshToken') delete payload.nonce;
    const key = oidcRecordKey(model, id);
    const now = clock();
    const record: OidcRecord = {
      model,
      sealed: seal(secretKey, purposes.oidcRecord(key), JSON.stringify(payload)),
      createdAt: new Date(now).toISOString(),
      expiresAt: new Date(now + expiresIn * 1000).toISOString(),
      ...defined({
        uid: payload.uid,
        // An interaction names the user once the password was right.
        userId: payload.accountId ?? payload.result?.login?.accountId,
        clientId: payload.clientId,
        grantId: model === 'Grant' ? id : payload.grantId,
        account: model === 'Grant' ? accountOfGrant(id) : undefined,
      }),
    };
    if (model === 'Grant') return saveGrant(id, key, record, payload);
    // Usually it is new, so do not read it first. A refresh token that exists is the successor of one that was used twice; it may be used already.
    const { stored } = await records.update(
      key,
      (before) =>
        before !== undefined && model === 'RefreshToken'
          ? undefined
          : { ...record, createdAt: before?.createdAt ?? record.createdAt },
      { stored: undefined },
    );
    if (stored?.version !== 1) return;
    if (!ISSUED_UNDER_A_GRANT.has(model) || payload.grantId === undefined) return;
    // The grant may have ended meanwhile. That removed the records issued before; remove this one too.
    if (await exists('Grant', payload.grantId)) return;
    await records.delete(key);
    throw await invalidGrant('grant not found');
  }

  const { isUnanswered, refuseInTurn } = createParallelUses(records);
  const isInGrace = (record: OidcRecord | undefined): boolean =>
    record?.consumedAt !== undefined && Math.abs(clock() - Date.parse(record.consumedAt)) < REUSE_MS;

  return {
    exists,

    /** The adapter with which oidc-provider reads and writes a model. */
    adapter: (model: string): Adapter => ({
      upsert: (id, payload, expiresIn) => upsert(model, id, payload, expiresIn ?? 0),

      async find(id) {
        const key = oidcRecordKey(model, id);
        const record = (await records.get(key))?.document;
        if (!isThere(record)) return undefined;
        // A second use revokes the grant, but not while the first is unanswered: if a client sends a request twice at once (two
        // tabs, a retry), one is served and the other refused (docs/decisions/oauth.md).
        const isRepeated = model === 'RefreshToken' && isInGrace(record);
        if (!isRepeated && isUnanswered(record) && (await route()) === 'token') return refuseInTurn(key);
        const payload = open(key, record);
        if (isRepeated) delete payload.consumed;
        if (model === 'AuthorizationCode') await refuseOtherResource(payload);
        // The userinfo endpoint refuses tokens with an audience. Ours have one, and are valid there if their scope has `openid`.
        if (model === 'AccessToken' && (await route()) === 'userinfo') delete payload.aud;
        return payload;
      },

      async findByUid(uid) {
        for await (const { key, document } of records.find(withField('uid', uid)))
          if (document.model === model) return open(key, document);
        return undefined;
      },

      /**
       * Exactly one of several concurrent calls succeeds; for the others it has already been used. A refresh token can be used again
       * for a moment: two processes of a client may share it.
       */
      async consume(id) {
        const key = oidcRecordKey(model, id);
        const { isChanged, stored } = await records.update(key, (record) =>
          record === undefined || record.consumedAt !== undefined
            ? undefined
            : { ...record, consumedAt: new Date(clock()).toISOString() },
        );
        if (!isChanged && !(model === 'RefreshToken' && isInGrace(stored?.document))) return refuseInTurn(key);
      },

      async destroy(id) {
        if (model === 'Grant') await revocation.endGrant(id, await contextOf(id));
        else await records.delete(oidcRecordKey(model, id));
      },

      async revokeByGrantId(grantId) {
        // The app revoked only an access token. It stays connected, and can get another.
        if (await isRevokingAccessToken()) return;
        await revocation.deleteIssued(grantId, model);
      },
      findByUserCode: () => Promise.resolve(undefined),
    }),

    /** Records that the request that consumed a code or refresh token was answered. Another use from then on is a replay. */
    async answered(model: 'AuthorizationCode' | 'RefreshToken', id: string): Promise<void> {
      await records.update(oidcRecordKey(model, id), (record) => record && { ...record, answered: true });
    },

    /** Sets the expiry of a grant to this many seconds from now, unless it has ended. Writes at most once a month. */
    async prolong(grantId: string, seconds: number): Promise<void> {
      const key = oidcRecordKey('Grant', grantId);
      await records.update(key, (record) => {
        if (!isThere(record)) return undefined;
        const until = clock() + seconds * 1000;
        const by = until - Date.parse(record.expiresAt);
        if (by < PROLONGED_BY_MS) return undefined;
        const payload = open(key, record);
        const exp = (payload.exp ?? 0) + Math.round(by / 1000);
        const sealed = seal(secretKey, purposes.oidcRecord(key), JSON.stringify({ ...payload, exp }));
        return { ...record, sealed, expiresAt: new Date(until).toISOString() };
      });
    },

    /** Oldest first. */
    async grantsOf(owner: { account: AccountKey } | { userId: string }): Promise<StoredGrant[]> {
      const query = 'account' in owner ? withField('account', owner.account) : withField('userId', owner.userId);
      const grants: StoredGrant[] = [];
      for await (const stored of records.find(query)) {
        const { model, grantId, createdAt, expiresAt } = stored.document;
        if (model !== 'Grant' || grantId === undefined || Date.parse(expiresAt) <= clock()) continue;
        grants.push({ id: grantId, createdAt, payload: open(stored.key, stored.document) });
      }
      return grants.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
    },
  };
}

/** How long a used refresh token can be used again (docs/guides/oauth.md#tokens). */
const REUSE_MS = 10_000;
/** The shortest extension of a grant: a month. */
const PROLONGED_BY_MS = 30 * 24 * 3_600_000;

/** An ended grant counts as missing, even if its event is not in the log yet. */
const isThere = (record: OidcRecord | undefined): record is OidcRecord =>
  record !== undefined && record.model !== ENDED_GRANT;

/** Everything that a grant allows. */
const scopesOf = ({ openid, resources }: Readonly<Record<string, unknown>>): ReadonlySet<string> =>
  new Set(
    [isObject(openid) ? openid.scope : undefined, ...(isObject(resources) ? Object.values(resources) : [])]
      .flatMap((scope) => (typeof scope === 'string' ? scope.split(' ') : []))
      .filter((scope) => scope !== ''),
  );

/** What a user allows an app; undefined for a grant that only identifies the user (the console's). */
function connection(
  grantId: string,
  { userId, clientId, account: key }: OidcRecord,
  scopes: readonly string[],
): AppConnected | undefined {
  const account = accountOfKey(key ?? '');
  if (account === undefined || userId === undefined || clientId === undefined) return undefined;
  return { type: 'AppConnected', data: { changeId: randomUUID(), account, userId, clientId, grantId, scopes } };
}

const byUser = ({ userId, account }: AppConnected['data']): ChangeContext => ({
  actor: { kind: 'user', id: userId, account },
  ...requestContext(),
});

/** The actor that ends a grant in a request to the authorization server: the app that revokes it, or the server itself. */
async function contextOf(grantId: string): Promise<ChangeContext> {
  const oidc = (await oidcProvider()).default.ctx?.oidc;
  const id = oidc?.route === 'revocation' ? oidc.client?.clientId : undefined;
  const account = accountOfKey(accountOfGrant(grantId) ?? '');
  const actor: Actor = id === undefined ? AUTHORIZATION_SERVER : { kind: 'client', id, ...defined({ account }) };
  return { actor, ...requestContext() };
}

/** The endpoint that is being called. */
const route = async () => (await oidcProvider()).default.ctx?.oidc.route;

/** Refuses an exchange for another resource than the code's, or without it, before the code is consumed: it stays usable. */
async function refuseOtherResource({ resource }: AdapterPayload): Promise<void> {
  const { default: provider, errors } = await oidcProvider();
  const oidc = provider.ctx?.oidc;
  if (oidc?.route !== 'token' || oidc.params?.resource === resource) return;
  throw new errors.InvalidTarget(
    resource === undefined ? undefined : 'resource must be that of the authorization request',
  );
}

async function isRevokingAccessToken(): Promise<boolean> {
  const oidc = (await oidcProvider()).default.ctx?.oidc;
  return oidc?.route === 'revocation' && oidc.entities.AccessToken !== undefined;
}

const ISSUED_UNDER_A_GRANT: ReadonlySet<string> = new Set(['AccessToken', 'AuthorizationCode', 'RefreshToken']);
