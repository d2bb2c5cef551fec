import { randomBytes } from 'node:crypto';
import type { Credentials } from '../credentials/credentials.ts';
import type { Account } from '../domain/account.ts';
import { issueApiKey, revokeApiKey } from '../domain/api-key.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import { type ApiKeyId, apiKeyId } from '../domain/ids.ts';
import { streamOf } from '../domain/streams.ts';
import { hashApiKey, makeApiKey, previewApiKey } from '../secrets/api-key-format.ts';
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

export function createApiKeyCommands(deps: {
  readonly handler: CommandHandler;
  readonly credentials: Pick<Credentials, 'add' | 'end'>;
}): ApiKeyCommands {
  const { handler, credentials } = deps;
  return {
    async issue(command, context) {
      const key = makeApiKey();
      const id = apiKeyId(`key_${randomBytes(9).toString('base64url')}`);
      const issued = { ...command, apiKeyId: id, hash: hashApiKey(key), preview: previewApiKey(key) };
      const { account, permissions } = command;
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
      return isRefusal(outcome) ? outcome : undefined;
    },
  };
}
