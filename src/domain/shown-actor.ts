import { type Account, type Actor, accountKey } from './account.ts';
import { defined } from './defined.ts';

/** The reader of a history: an account, or the operator. */
export type Viewer = Account | 'operator';

/** An actor, as shown to a viewer. */
export type ShownActor = {
  /** `account` if the viewer may only see the account. */
  readonly kind: Actor['kind'] | 'account';
  /** The key, client or user. Absent where `kind` is `account`. */
  readonly id?: string;
  readonly account?: Account;
};

/** An actor by name, as shown to a viewer. */
export type NamedActor = ShownActor & {
  /**
   * The e-mail address of a user, the label of a key, the name of an app, or the name of the account if the viewer may see no more.
   * Absent if unknown, such as for a removed user, and for the operator and the service.
   */
  readonly name?: string;
};

/**
 * Limits an actor to what a viewer may see. The own account and the operator see the key, app or user; the other party sees only the
 * account (docs/decisions/accounts.md). Actions of the operator and the service are visible to all.
 */
export function shownActor({ kind, id, account }: Actor, viewer: Viewer): ShownActor {
  if (kind === 'operator' || kind === 'system') return { kind, id };
  const isOwn = viewer === 'operator' || (account !== undefined && accountKey(viewer) === accountKey(account));
  return isOwn ? { kind, id, ...defined({ account }) } : { kind: 'account', ...defined({ account }) };
}
