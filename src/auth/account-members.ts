import type { Collection, DocumentStore, Documents, Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Account, accountKey, accountOfKey } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import type { Role } from '../domain/roles.ts';
import { type Membership, roleIn } from './memberships.ts';

type AccountMember = { readonly userId: string; readonly role: Role };
/** A Manager about to stop being one. `version`: that of the user's record before the change. */
type Leaving = { readonly userId: string; readonly version: number };

/**
 * The members of one account. The records of the users are the truth; this one decides who may stop being a Manager, because it is one
 * record for all of them (docs/decisions/accounts.md#the-last-manager). Each Manager in it, except those who are leaving, is one in truth.
 */
type AccountMembersDocument = {
  /** Absent until the record is first needed. */
  readonly members?: readonly AccountMember[];
  /** They no longer count. */
  readonly leaving: readonly Leaving[];
  /** Indexed: whether there are any. */
  readonly isLeft: 'yes' | 'no';
};

const ACCOUNT_MEMBERS: Collection<AccountMembersDocument> = {
  name: 'accountMembers',
  kind: 'record',
  indexes: [{ fields: ['isLeft'], where: { isLeft: 'yes' } }],
};

const withLeaving = declareQuery(
  ACCOUNT_MEMBERS,
  (): Find<AccountMembersDocument> => ({ where: { isLeft: 'yes' } }),
  [],
);

/** The record of a user, as far as it concerns accounts. */
export type VersionedMember = {
  readonly id: string;
  readonly version: number;
  readonly memberships: readonly Membership[];
};

/** The records of the users. */
export type MemberRecords = {
  get(userId: string): Promise<VersionedMember | undefined>;
  all(): AsyncIterable<VersionedMember>;
  /** Writes a record without changing it, if it has this version: a change that another process began then starts over. */
  touch(userId: string, version: number): Promise<void>;
};

const EMPTY: AccountMembersDocument = { leaving: [], isLeft: 'no' };

/** Opens the records of the members of accounts. */
export const openAccountMembers = (documents: DocumentStore): Promise<Documents<AccountMembersDocument>> =>
  documents.open(ACCOUNT_MEMBERS);

/** Who belongs to an account, in one record per account. */
export function createAccountMembers(deps: {
  readonly records: Documents<AccountMembersDocument>;
  readonly users: MemberRecords;
}) {
  const { records, users } = deps;

  /** Writes the next record unless another write came first. @returns whether it was written */
  async function write(
    account: Account,
    before: { readonly version: number } | undefined,
    next: AccountMembersDocument,
  ): Promise<boolean> {
    const { isChanged } = await records.update(accountKey(account), (_, version) =>
      version === (before?.version ?? 0) ? next : undefined,
    );
    return isChanged;
  }

  /** Makes the record from the users. A change of a member meanwhile writes it too, so that it is made again. */
  async function make(account: Account): Promise<readonly AccountMember[]> {
    for (;;) {
      const stored = await records.get(accountKey(account));
      const members: AccountMember[] = [];
      for await (const user of users.all()) {
        const role = roleIn(user, account);
        if (role !== undefined) members.push({ userId: user.id, role });
      }
      if (await write(account, stored, { ...(stored?.document ?? EMPTY), members })) return members;
    }
  }

  /** Makes the record agree with the record of a user, unless that is about to change. */
  async function update(account: Account, userId: string): Promise<void> {
    for (;;) {
      // Read before the user: a write in between shows that the user may have changed since.
      const stored = await records.get(accountKey(account));
      const user = await users.get(userId);
      const { members, leaving } = stored?.document ?? EMPTY;
      const left = leaving.find((one) => one.userId === userId);
      if (left !== undefined && user?.version === left.version) return;
      const role = user && roleIn(user, account);
      const known = members?.find((one) => one.userId === userId)?.role;
      if (members !== undefined && left === undefined && known === role) return;
      const others = members?.filter((one) => one.userId !== userId);
      const next = withLeft(
        defined({ members: others && (role === undefined ? others : [...others, { userId, role }]) }),
        leaving.filter((one) => one !== left),
      );
      if (await write(account, stored, next)) return;
    }
  }

  return {
    /** The members of an account, in no order. */
    membersOf: async (account: Account): Promise<readonly AccountMember[]> =>
      (await records.get(accountKey(account)))?.document.members ?? make(account),

    /** Call it after the record of the user has changed. */
    update,

    /**
     * Call it before a user stops being a Manager of the account; `update` then ends what it begins.
     * @param mayBeLast whether the account may be left without a Manager
     * @returns false if no other Manager would stay
     */
    async leave(
      account: Account,
      { userId, version, mayBeLast }: Leaving & { readonly mayBeLast: boolean },
    ): Promise<boolean> {
      // A release before this record, rolled out again, changes members without it. This happens rarely, so read all users again.
      if (!mayBeLast) await make(account);
      let stays = true;
      await records.update(accountKey(account), (document = EMPTY) => {
        const leaving = document.leaving.filter((one) => one.userId !== userId);
        const gone = new Set([userId, ...leaving.map((one) => one.userId)]);
        stays = mayBeLast || (document.members ?? []).some((one) => one.role === 'Manager' && !gone.has(one.userId));
        return stays ? withLeft(document, [...leaving, { userId, version }]) : undefined;
      });
      return stays;
    },

    /** Finishes or undoes changes that a process began and did not end. */
    async finishChanges(): Promise<void> {
      for await (const { key, document } of records.find(withLeaving())) {
        const account = accountOfKey(key);
        if (account === undefined) continue;
        for (const { userId, version } of document.leaving) {
          await users.touch(userId, version);
          await update(account, userId);
        }
      }
    },
  };
}

const withLeft = (
  { members }: Pick<AccountMembersDocument, 'members'>,
  leaving: AccountMembersDocument['leaving'],
): AccountMembersDocument => ({ ...defined({ members }), leaving, isLeft: leaving.length > 0 ? 'yes' : 'no' });
