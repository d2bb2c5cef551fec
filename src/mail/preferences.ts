import type { Collection, DocumentStore, Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { AccountKey } from '../domain/account.ts';
import type { Role } from '../domain/roles.ts';
import { type ChosenKind, isOnByDefault } from './kinds.ts';

/** The kinds that a user has turned on or off. Those left out follow the default. */
export type MailChoices = { readonly [K in ChosenKind]?: boolean };

/** Which mail a user wants for an account. */
export type Preferences = {
  /** For every space that has no choice of its own. */
  readonly all: MailChoices;
  /** By the id of the space. */
  readonly spaces: { readonly [spaceId: string]: MailChoices };
};

type PreferencesDocument = Preferences & { readonly userId: string; readonly account: AccountKey };

const MAIL_PREFERENCES: Collection<PreferencesDocument> = {
  name: 'mailPreferences',
  kind: 'record',
  indexes: [{ fields: ['userId'] }],
};

const ofUser = declareQuery(MAIL_PREFERENCES, (userId: string): Find<PreferencesDocument> => ({ where: { userId } }), [
  'usr_1',
]);

/** Everything follows the default. */
export const NO_CHOICES: Preferences = { all: {}, spaces: {} };

export type MailPreferences = Awaited<ReturnType<typeof createMailPreferences>>;

/** Records of which mail each user wants. They end when the user leaves the account, is removed or forgotten. */
export async function createMailPreferences({ documents }: { readonly documents: Pick<DocumentStore, 'open'> }) {
  const records = await documents.open(MAIL_PREFERENCES);

  return {
    async get(userId: string, account: AccountKey): Promise<Preferences> {
      return (await records.get(keyOf(userId, account)))?.document ?? NO_CHOICES;
    },

    /** The preferences of several users for one account, by user. Users without choices are left out. */
    async ofMembers(userIds: readonly string[], account: AccountKey): Promise<ReadonlyMap<string, Preferences>> {
      // Not `getMany`: reads of several accounts at the same time share a command.
      const stored = await Promise.all(userIds.map((userId) => records.get(keyOf(userId, account))));
      return new Map(stored.flatMap((each) => (each ? [[each.document.userId, each.document]] : [])));
    },

    /** Replaces the choices for one space, or those for all. Without choices, a space follows those for all. */
    async choose(
      userId: string,
      account: AccountKey,
      spaceId: number | undefined,
      choices: MailChoices,
    ): Promise<void> {
      await records.update(keyOf(userId, account), (before) => {
        const { all, spaces } = before ?? NO_CHOICES;
        if (spaceId === undefined) return { userId, account, all: choices, spaces };
        const { [String(spaceId)]: _, ...others } = spaces;
        const isEmpty = Object.keys(choices).length === 0;
        return { userId, account, all, spaces: isEmpty ? others : { ...others, [String(spaceId)]: choices } };
      });
    },

    /** Turns kinds off for an account, in all its spaces. */
    async turnOff(userId: string, account: AccountKey, kinds: readonly ChosenKind[]): Promise<void> {
      const off = Object.fromEntries(kinds.map((kind) => [kind, false]));
      await records.update(keyOf(userId, account), (before) => {
        const { all, spaces } = before ?? NO_CHOICES;
        const entries = Object.entries(spaces).map(
          ([space, choices]) => [space, withoutKinds(choices, kinds)] as const,
        );
        const others = entries.filter(([, choices]) => Object.keys(choices).length > 0);
        return { userId, account, all: { ...all, ...off }, spaces: Object.fromEntries(others) };
      });
    },

    /** Removes the preferences of a user for an account, or for all accounts. */
    async endOf(userId: string, account?: AccountKey): Promise<void> {
      if (account !== undefined) return void (await records.delete(keyOf(userId, account)));
      const keys = await Array.fromAsync(records.find(ofUser(userId)), ({ key }) => key);
      for (const key of keys) await records.delete(key);
    },
  };
}

const withoutKinds = (choices: MailChoices, kinds: readonly ChosenKind[]): MailChoices =>
  Object.fromEntries(Object.entries(choices).filter(([kind]) => !kinds.some((one) => one === kind)));

/** Begins with the user, by which `venue data` finds it. */
const keyOf = (userId: string, account: AccountKey): string => `${userId}:${account}`;

/** Whether a member with this role wants mail of a kind about a space, or about none. */
export function wants(
  { all, spaces }: Preferences,
  kind: ChosenKind,
  role: Role,
  spaceId: number | undefined,
): boolean {
  const ofSpace = spaceId === undefined ? undefined : spaces[String(spaceId)]?.[kind];
  return ofSpace ?? all[kind] ?? isOnByDefault(role);
}
