import { type Account, type Actor, accountKey } from './account.ts';
import { defined } from './defined.ts';

/** Who reads a history: an account, or the operator of the service. */
export type Viewer = Account | 'operator';

/** Who did something, as a viewer may know it. */
export type ShownActor = {
  /** `account` where the viewer may only know for whom it was done. */
  readonly kind: Actor['kind'] | 'account';
  /** The key, client or user. Absent where `kind` is `account`. */
  readonly id?: string;
  readonly account?: Account;
};

/** Who did something, by name, as far as the viewer may know it. */
export type NamedActor = ShownActor & {
  /**
   * The e-mail address of a user, the label of a key, the name of an app, or that of the account where nothing else may be known.
   * Absent if it is not known any more, as of a user who was removed, and for the operator and the service.
   */
  readonly name?: string;
};

/**
 * What a viewer may know of who did something. An account and the operator see which key, app or user it was; the other party sees
 * the account alone (docs/decisions/accounts.md). Actions of the operator and the service are visible to all.
 */
export function shownActor({ kind, id, account }: Actor, viewer: Viewer): ShownActor {
  if (kind === 'operator' || kind === 'system') return { kind, id };
  const isOwn = viewer === 'operator' || (account !== undefined && accountKey(viewer) === accountKey(account));
  return isOwn ? { kind, id, ...defined({ account }) } : { kind: 'account', ...defined({ account }) };
}
