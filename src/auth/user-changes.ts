import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Documents, Find, Stored } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import type { AccountMembers } from './account-members.ts';
import type { Endings } from './endings.ts';
import { type ChangeContext, createRecorder, type MembershipLog, UNLOGGED } from './unlogged-changes.ts';
import { type Changed, isUser, managedBy, USERS, type UserDocument, withOwnChanges } from './user-record.ts';

const MAX_PAUSE_MS = 50;
/** Kinds of events that change who belongs to an account, or the role there. */
const CHANGE_MEMBERS: ReadonlySet<string> = new Set(['MemberAdded', 'MemberRoleChanged', 'MemberRemoved']);

const unlogged = declareQuery(USERS, (): Find<UserDocument> => UNLOGGED, []);

/** Makes one change of a user, from the decision to the log, in the one order that survives a process that dies on the way. */
export function createUserChanges(deps: {
  readonly users: Documents<UserDocument>;
  readonly members: AccountMembers;
  readonly byEmail: (email: string) => Promise<object | undefined>;
  readonly endings: Endings;
  readonly log: MembershipLog;
  readonly logger: Pick<Logger, 'error'>;
}) {
  const { users, members, byEmail, endings } = deps;

  const { finish, finishAll } = createRecorder({
    ...deps,
    records: users,
    unlogged,
    isEnded: (user) => !isUser(user),
    async settle(user, event, context) {
      if (CHANGE_MEMBERS.has(event.type)) await members.update(event.data.account, user.id);
      await endings.ofChange(user, event, context);
    },
  });

  /**
   * Changes a user and applies the consequences. Starts over if another write came in between; writes nothing without changes.
   * @param mayBeLast whether an account may be left without a Manager
   */
  async function change(
    id: string,
    next: (user: UserDocument) => Changed | Refusal,
    context: ChangeContext,
    { mayBeLast = false }: { readonly mayBeLast?: boolean } = {},
  ): Promise<UserDocument | Refusal> {
    const left = new Set<Account>();

    /** Undefined if the record has changed since it was read. */
    async function attempt(): Promise<UserDocument | Refusal | undefined> {
      const stored = await users.get(id);
      if (stored === undefined || !isUser(stored.document)) return NO_SUCH_USER;
      const changed = next(stored.document);
      if (isRefusal(changed)) return changed;
      if (changed.user === stored.document) return changed.user;
      for (const account of managedNoLonger(stored.document, changed.user)) {
        left.add(account);
        if (!(await members.stopManaging(account, id, mayBeLast))) return LAST_MANAGER;
      }
      return write(stored, withOwnChanges(changed.user, changed.changes, context));
    }

    let outcome = await attempt();
    for (let failed = 1; outcome === undefined; failed += 1) {
      // Two processes could else make each other start over for as long as they are equally fast.
      if (failed > 2) await sleep(Math.random() * Math.min(2 ** failed, MAX_PAUSE_MS));
      outcome = await attempt();
    }
    await finish(id);
    // The user may have stayed a Manager of them.
    for (const account of left) await members.update(account, id);
    return outcome;
  }

  /** Replaces the record that was read. Undefined if it has changed since. */
  async function write(
    stored: Stored<UserDocument>,
    changed: UserDocument,
  ): Promise<UserDocument | Refusal | undefined> {
    let isTaken = false;
    const ifUnchanged = async (_: UserDocument | undefined, version: number) => {
      if (version !== stored.version) return undefined;
      // The unique index also refuses an address that another user takes at this moment; then this is asked again.
      isTaken = changed.email !== stored.document.email && (await byEmail(changed.email)) !== undefined;
      return isTaken ? undefined : changed;
    };
    const { isChanged } = await users.update(stored.key, ifUnchanged, { stored });
    if (isTaken) return ADDRESS_TAKEN;
    return isChanged ? changed : undefined;
  }

  return {
    change,
    /** Applies the consequences of a new user, and appends its events. */
    finish,
    /** Finishes interrupted changes, and appends those that are not in the log yet. */
    finishAll,
  };
}

function managedNoLonger(before: UserDocument, after: UserDocument): readonly Account[] {
  const stays = new Set(managedBy(after).map(accountKey));
  return managedBy(before).filter((account) => !stays.has(accountKey(account)));
}

export const NO_SUCH_USER = refuse('ResourceNotFound', 'There is no such user.');
const ADDRESS_TAKEN = refuse('ValidationError', 'This address cannot be used.');
const LAST_MANAGER = refuse(
  'ValidationError',
  'This is the last Manager of the account. Make another member a Manager first.',
);
