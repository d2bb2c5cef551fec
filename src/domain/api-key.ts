import { type Account, accountKey } from './account.ts';
import { type Decision, refuse } from './decision.ts';
import type { ApiKeyEvent, ApiKeyIssued, ApiKeyRevoked } from './events.ts';
import type { ApiKeyId } from './ids.ts';
import { ALL_PERMISSIONS } from './permissions.ts';
import { isLongerThan } from './text-length.ts';

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

/** Decides the issue of a key. */
export function issueApiKey(existing: ApiKey | undefined, command: ApiKeyIssued['data']): Decision<ApiKeyIssued> {
  const { account, permissions, label } = command;
  if (existing !== undefined) return refuse('ValidationError', `Key ${command.apiKeyId} exists already.`);
  if (label.trim() === '' || isLongerThan(label, 100))
    return refuse('ValidationError', 'label must have 1 to 100 characters.');
  if (!Number.isInteger(permissions) || permissions < 1 || (permissions & ~ALL_PERMISSIONS) !== 0)
    return refuse(
      'ValidationError',
      `permissions must be a sum of flags out of ${ALL_PERMISSIONS} for a ${account.kind} key.`,
    );
  return [{ type: 'ApiKeyIssued', data: command }];
}

/** Decides a revocation. `by` limits it to one account's keys; a key revoked before needs no event. */
export function revokeApiKey(
  key: ApiKey | undefined,
  command: { readonly apiKeyId: ApiKeyId; readonly by?: Account },
): Decision<ApiKeyRevoked> {
  if (key === undefined || (command.by !== undefined && accountKey(command.by) !== accountKey(key.account)))
    return refuse('ResourceNotFound', `There is no key ${command.apiKeyId}.`);
  if (key.revoked) return [];
  return [{ type: 'ApiKeyRevoked', data: { apiKeyId: key.apiKeyId, account: key.account, hash: key.hash } }];
}
