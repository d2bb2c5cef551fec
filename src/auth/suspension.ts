import type { Account } from '../domain/account.ts';
import { refuse } from '../domain/decision.ts';

/** Whether the operator has suspended an account, as of at most 1 s ago. Every face of the service asks it once it knows the account of a request. */
export type IsSuspended = (account: Account) => Promise<boolean>;

/** The refusal of everything that a suspended brand does or reads (docs/decisions/accounts.md#suspending-a-brand). */
export const SUSPENDED = refuse(
  'InsufficientPermissions',
  'The operator of this service has suspended this brand. All that it has is kept, and works again once the brand is reinstated. Ask the operator.',
);
