import type { Account } from '../domain/account.ts';
import { toPublicAccount } from './account.ts';

type User = {
  readonly id: string;
  readonly email: string;
  readonly accounts: readonly Account[];
  readonly createdAt: string;
  readonly passwordChangedAt: string;
};

/** A user as the command line prints it with `--json`. */
export const toOperatorUser = ({ id, email, accounts, createdAt, passwordChangedAt }: User) => ({
  id,
  email,
  accounts: accounts.map(toPublicAccount),
  createdAt,
  passwordChangedAt,
});
