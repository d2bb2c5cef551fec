import { randomBytes } from 'node:crypto';
import { type ApiKeyDocument, apiKeys } from '../../projections/api-keys.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import { issueApiKey, revokeApiKey } from '../domain/api-key.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import { type ApiKeyId, apiKeyId } from '../domain/ids.ts';
import { streamOf } from '../domain/streams.ts';
import { atMost, eachOf, openAccountQuota } from '../quotas/account-quota.ts';
import { apiKeyFormat } from '../secrets/credential-format.ts';
import { apiKey } from './aggregates.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';

const ofAccount = declareQuery(apiKeys, (account: AccountKey): Find<ApiKeyDocument> => ({ where: { account } }), [
  'Brand:1',
]);

export async function createApiKeyCommands({
  handler,
  documents,
  readModels,
  credentials,
  settings: { apiKeysPerAccount },
}: Pick<CommandDeps, 'handler' | 'documents' | 'readModels' | 'credentials'> & {
  readonly settings: Pick<CommandDeps['settings'], 'apiKeysPerAccount'>;
}) {
  const quota = await openAccountQuota<Pick<ApiKeyDocument, 'apiKeyId'>>({
    documents,
    collection: { name: 'apiKeyQuotas', kind: 'record', indexes: [] },
    idOf: ({ apiKeyId: id }) => id,
    exist: eachOf(async ({ apiKeyId: id }) => {
      const key = await handler.load(streamOf.apiKey(id), apiKey);
      return key && !key.revoked;
    }),
    async existing(account) {
      const keys = await readModels.collection(apiKeys).list(ofAccount(account));
      return keys.filter(({ revokedAt }) => revokedAt === undefined).map(({ apiKeyId: id }) => ({ apiKeyId: id }));
    },
  });
  const tooMany = `An account can have at most ${apiKeysPerAccount} API keys; revoke one first.`;

  return {
    /** Issues a key. The result is the only place where it appears in clear text. */
    async issue(
      command: { readonly account: Account; readonly permissions: number; readonly label: string },
      context: CommandContext,
    ): Promise<{ readonly apiKeyId: ApiKeyId; readonly key: string } | Refusal> {
      const key = apiKeyFormat.make();
      const id = apiKeyId(`key_${randomBytes(9).toString('base64url')}`);
      const issued = { ...command, apiKeyId: id, hash: apiKeyFormat.hash(key), preview: apiKeyFormat.preview(key) };
      const { account, permissions } = command;
      const wrong = issueApiKey(undefined, issued);
      if (isRefusal(wrong)) return wrong;
      const reserved = await quota.take(
        accountKey(account),
        () => ({ apiKeyId: id }),
        atMost(apiKeysPerAccount, tooMany),
      );
      if (isRefusal(reserved)) return reserved;
      // If the key is never issued, the record is unused.
      await credentials.add(issued.hash, { apiKeyId: id, account, permissions });
      const outcome = await handler.execute(streamOf.apiKey(id), apiKey, context, (state) =>
        issueApiKey(state, issued),
      );
      return isRefusal(outcome) ? outcome : { apiKeyId: id, key };
    },

    /**
     * Revokes a key; `by` limits it to one account's keys. Revoking twice is not an error. Every process refuses the key within 2 s, with
     * or without the read models, so only a caller who shows the key next `waits` for them.
     */
    async revoke(
      { apiKeyId: id, waits, ...by }: { readonly apiKeyId: string; readonly by?: Account; readonly waits?: boolean },
      context: CommandContext,
    ): Promise<Refusal | undefined> {
      const command = { ...by, apiKeyId: apiKeyId(id) };
      const outcome = await handler.execute(
        streamOf.apiKey(id),
        apiKey,
        context,
        (state) => revokeApiKey(state, command),
        { record: () => credentials.end(id, 'ApiKeyRevoked'), waits },
      );
      if (isRefusal(outcome)) return outcome;
      if (outcome.state !== undefined) await quota.release(accountKey(outcome.state.account), id);
      return undefined;
    },
  };
}
