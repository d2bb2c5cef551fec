import { type Account, accountKey } from './account.ts';
import { type Decision, refuse, refuseFor } from './decision.ts';
import type { ApiKeyEvent, ApiKeyIssued, ApiKeyRevoked } from './events.ts';
import type { ApiKeyId } from './ids.ts';
import { LABEL, wrongMask, wrongText } from './limits.ts';
import { Permission } from './permissions.ts';

export type ApiKey = ApiKeyIssued['data'] & { readonly revoked: boolean };

export function evolveApiKey(key: ApiKey | undefined, event: ApiKeyEvent): ApiKey | undefined {
  switch (event.type) {
    case 'ApiKeyIssued':
      return { ...event.data, revoked: false };
    case 'ApiKeyRevoked':
      return key && { ...key, revoked: true };
    default:
      return event satisfies never;
  }
}

export function issueApiKey(existing: ApiKey | undefined, command: ApiKeyIssued['data']): Decision<ApiKeyIssued> {
  const { permissions, label } = command;
  if (existing !== undefined) return refuse('ValidationError', `Key ${command.apiKeyId} already exists.`);
  const wrong = refuseFor([wrongText('label', label, LABEL), wrongMask('permissions', permissions, Permission)]);
  return wrong ?? [{ type: 'ApiKeyIssued', data: command }];
}

/** Revokes a key; `by` limits it to one account's keys. No event if it is already revoked. */
export function revokeApiKey(
  key: ApiKey | undefined,
  command: { readonly apiKeyId: ApiKeyId; readonly by?: Account },
): Decision<ApiKeyRevoked> {
  if (key === undefined || (command.by !== undefined && accountKey(command.by) !== accountKey(key.account)))
    return refuse('ResourceNotFound', `There is no key ${command.apiKeyId}.`);
  if (key.revoked) return [];
  return [{ type: 'ApiKeyRevoked', data: { apiKeyId: key.apiKeyId, account: key.account, hash: key.hash } }];
}
