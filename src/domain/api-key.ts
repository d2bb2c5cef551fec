import { type Account, accountKey } from './account.ts';
import { type Decision, refuse } from './decision.ts';
import type { ApiKeyEvent, ApiKeyIssued, ApiKeyRevoked } from './events.ts';
import type { ApiKeyId } from './ids.ts';
import { LABEL, wrongText } from './limits.ts';
import { ALL_PERMISSIONS } from './permissions.ts';

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
  const wrongLabel = wrongText('label', label, LABEL);
  if (wrongLabel !== undefined) return wrongLabel;
  if (!Number.isInteger(permissions) || permissions < 1 || (permissions & ~ALL_PERMISSIONS) !== 0)
    return refuse('ValidationError', `permissions must be a sum of permission flags, 1 to ${ALL_PERMISSIONS}.`);
  return [{ type: 'ApiKeyIssued', data: command }];
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
