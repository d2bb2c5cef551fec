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
  /** Revokes a key; `by` limits it to one account's keys. Revoking twice is not an error. */
  revoke(
    command: { readonly apiKeyId: string; readonly by?: Account },
    context: CommandContext,
  ): Promise<Refusal | undefined>;
};

export function createApiKeyCommands(deps: {
  readonly handler: CommandHandler;
  readonly keyIndex: Credentials['keyIndex'];
}): ApiKeyCommands {
  const { handler, keyIndex } = deps;
  return {
    async issue(command, context) {
      const key = makeApiKey();
      const id = apiKeyId(`key_${randomBytes(9).toString('base64url')}`);
      const issued = { ...command, apiKeyId: id, hash: hashApiKey(key), preview: previewApiKey(key) };
      // Written before the key exists, so that every valid key is found. If the key is never issued, the record is unused.
      await keyIndex.add(issued.hash, id);
      const outcome = await handler.execute(streamOf.apiKey(id), apiKey, context, (state) =>
        issueApiKey(state, issued),
      );
      return isRefusal(outcome) ? outcome : { apiKeyId: id, key };
    },

    async revoke({ apiKeyId: id, ...by }, context) {
      const command = { ...by, apiKeyId: apiKeyId(id) };
      const outcome = await handler.execute(streamOf.apiKey(id), apiKey, context, (state) =>
        revokeApiKey(state, command),
      );
      return isRefusal(outcome) ? outcome : undefined;
    },
  };
}
