import { Type } from 'typebox';
import { PublicAccount } from '../contract/schemas/account.ts';
import { OneOf, Timestamp } from '../contract/schemas/scalars.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import { keysOf } from '../domain/keys-of.ts';
import { Permission, permissionNames, usablePermissions } from '../domain/permissions.ts';
import { Input } from './lists.ts';
import { type Tool, type ToolDeps, tool } from './tool.ts';

export const whoAmI = ({ queries, clock, pricing }: ToolDeps): Tool =>
  tool({
    name: 'who_am_i',
    title: 'Who am I',
    description:
      'Says for which account you act, a community or a brand, what you may do for it, and what time it is. To act ' +
      'for another account, the user has to reconnect.',
    input: Input({}),
    output: Type.Object({
      account: Type.Object({ ...PublicAccount.properties, name: Type.String() }),
      permissions: Type.Array(OneOf(keysOf(Permission))),
      now: Timestamp('The time now, UTC.'),
      timeZone: Type.Optional(Type.String({ description: 'IANA time zone of the community. Brands have none.' })),
      currency: Type.String({ description: 'ISO 4217 code of all amounts.' }),
    }),
    writes: false,
    async run(_input, { caller: { account, permissions } }) {
      const community = account.kind === 'Community' ? await queries.spaces.community(account.id) : undefined;
      return {
        account: { kind: account.kind, id: account.id, name: (await queries.accounts.name(account)) ?? '' },
        permissions: permissionNames(permissions & usablePermissions(account.kind)),
        now: toTimestamp(clock()),
        ...defined({ timeZone: community?.timeZone }),
        currency: pricing.currency,
      };
    },
  });
