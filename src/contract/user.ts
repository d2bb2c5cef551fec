import type { Account } from '../domain/account.ts';
import { PublicAccount, toPublicAccount } from './account.ts';
import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

/** A user as an operator sees it: the command line's JSON. */
export const OperatorUser = Type.Object({
  id: Type.String({ description: 'User identifier, usr_ followed by characters.' }),
  email: Type.String({ description: 'Trimmed, lower case.' }),
  accounts: Type.Array(PublicAccount, { description: 'The accounts that the user acts for.' }),
  createdAt: Type.String({ format: 'date-time', description: 'When the user was added, UTC.' }),
  passwordChangedAt: Type.String({ format: 'date-time', description: 'Sessions started before have ended, UTC.' }),
});

type User = Omit<Static<typeof OperatorUser>, 'accounts'> & { readonly accounts: readonly Account[] };

const operatorUser = shaped(OperatorUser);
export const toOperatorUser = (user: User): Static<typeof OperatorUser> =>
  operatorUser({ ...user, accounts: user.accounts.map(toPublicAccount) });
