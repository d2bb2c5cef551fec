import { randomBytes } from 'node:crypto';
import { type ApiKeyDocument, apiKeys } from '../../projections/api-keys.ts';
import type { Credentials } from '../credentials/credentials.ts';
import type { DocumentStore, Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import { issueApiKey, revokeApiKey } from '../domain/api-key.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import { type ApiKeyId, apiKeyId } from '../domain/ids.ts';
import { streamOf } from '../domain/streams.ts';
import { atMost, eachOf, openAccountQuota } from '../quotas/account-quota.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import { apiKeyFormat } from '../secrets/credential-format.ts';
import { apiKey } from './aggregates.ts';
import type { CommandContext, CommandHandler } from './command-handler.ts';

export type ApiKeyCommands = {
  /** Issues a key. The result is the only place where it appears in clear text. */
  issue(
    command: { readonly account: Account; readonly permissions: number; readonly label: string },
    context: CommandContext,
  ): Promise<{ readonly apiKeyId: ApiKeyId; readonly key: string } | Refusal>;
  /**
   * Revokes a key; `by` limits it to one account's keys. Revoking twice is not an error. Every process refuses the key within 2 s, with
   * or without the read models, so only a caller who shows the key next `waits` for them.
   */
  revoke(
    command: { readonly apiKeyId: string; readonly by?: Account; readonly waits?: boolean },
    context: CommandContext,
  ): Promise<Refusal | undefined>;
};

const ofAccount = declareQuery(apiKeys, (account: AccountKey): Find<ApiKeyDocument> => ({ where: { account } }), [
  'Brand:1',
]);

export async function createApiKeyCommands(deps: {
  readonly handler: CommandHandler;
  readonly documents: DocumentStore;
  readonly readModels: Pick<ReadModels, 'collection'>;
  readonly credentials: Pick<Credentials, 'add' | 'end'>;
  /** Keys an account may have that are not revoked. */
  readonly perAccount: number;
}): Promise<ApiKeyCommands> {
  const { handler, documents, readModels, credentials, perAccount } = deps;
  const quota = await openAccountQuota<Pick<ApiKeyDocument, 'apiKeyId'>>({
    documents,
    collection: { name: 'apiKeyQuotas', kind: 'record', indexes: [] },
    idOf: ({ apiKeyId: id }) => id,
    exist: eachOf(async ({ apiKeyId: id }) => {
      const key = await handler.load(streamOf.apiKey(id), apiKey);
      return key && !key.revoked;
    }),
    async existing(account) {
      const stored = await Array.fromAsync(readModels.collection(apiKeys).find(ofAccount(account)));
      return stored.flatMap(({ document: { apiKeyId: id, revokedAt } }) =>
        revokedAt === undefined ? { apiKeyId: id } : [],
      );
    },
  });
  const oneMore = atMost(perAccount, `An account can have at most ${perAccount} API keys; revoke one first.`);

  return {
    async issue(command, context) {
      const key = apiKeyFormat.make();
      const id = apiKeyId(`key_${randomBytes(9).toString('base64url')}`);
      const issued = { ...command, apiKeyId: id, hash: apiKeyFormat.hash(key), preview: apiKeyFormat.preview(key) };
      const { account, permissions } = command;
      const wrong = issueApiKey(undefined, issued);
      if (isRefusal(wrong)) return wrong;
      const reserved = await quota.take(accountKey(account), () => ({ apiKeyId: id }), oneMore);
      if (isRefusal(reserved)) return reserved;
      // If the key is never issued, the record is unused.
      await credentials.add(issued.hash, { apiKeyId: id, account, permissions });
      const outcome = await handler.execute(streamOf.apiKey(id), apiKey, context, (state) =>
        issueApiKey(state, issued),
      );
      return isRefusal(outcome) ? outcome : { apiKeyId: id, key };
    },

    async revoke({ apiKeyId: id, waits, ...by }, context) {
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
