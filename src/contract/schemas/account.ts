import { type Static, Type } from 'typebox';
import type { AccountKind } from '../../domain/account.ts';
import { Id, OneOf } from './scalars.ts';

/** A community or a brand, by its kind and id. */
export const PublicAccount = Type.Object(
  { kind: OneOf<AccountKind>(['Community', 'Brand']), id: Id('Account identifier.') },
  { title: 'Account', description: 'A community or a brand.' },
);
export type PublicAccount = Static<typeof PublicAccount>;
