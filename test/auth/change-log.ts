import { createEndings } from '../../src/auth/endings.ts';
import type { ChangeContext, MembershipLog } from '../../src/auth/unlogged-changes.ts';
import { createUsers } from '../../src/auth/users.ts';
import { createRevocation, type Revocation } from '../../src/authorization-server/revocation.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { OPERATOR } from '../../src/domain/account.ts';
import type { MembershipEvent } from '../../src/domain/events.ts';

export const BY_OPERATOR: ChangeContext = { actor: OPERATOR, correlationId: 'test' };

/** Receives the changes to users, apps and clients, in place of the log. */
export function createChangeLog(): MembershipLog & {
  readonly told: { readonly change: MembershipEvent; readonly context: ChangeContext }[];
  /** Makes it unavailable or available again. */
  fails(isFailing: boolean): void;
} {
  let isFailing = false;
  const told: { readonly change: MembershipEvent; readonly context: ChangeContext }[] = [];
  return {
    told,
    fails(now) {
      isFailing = now;
    },
    async record(change, context) {
      if (isFailing) throw new Error('The log does not answer');
      if (!told.some(({ change: { data } }) => data.changeId === change.data.changeId)) told.push({ change, context });
    },
  };
}

/** A logger for components that report failures and continue. */
export const NO_LOGGER = { error: () => {} };

type Belongings = Parameters<typeof createEndings>[0];

/** What ends with users who have nothing but apps, unless given. */
export const endingsOf = (revocation: Revocation, belongings: Partial<Belongings> = {}) =>
  createEndings({
    revocation,
    invitations: { withdrawLapsed: async () => {}, withdrawAll: async () => {} },
    signUps: { endOf: async () => {} },
    calendarFeeds: { endAllOf: async () => {} },
    sessions: { deleteAllOf: async () => {} },
    checkedFiles: { deleteAllOf: async () => {} },
    preferences: { endOf: async () => {} },
    mail: { endAllOf: async () => {}, forgetAddress: async () => {}, forgetTexts: async () => {} },
    ...belongings,
  });

/** Users, their ended grants, and the events appended about both. */
export async function openUsers(
  documents: OperatedDocumentStore,
  clock: () => number,
  belongings?: Partial<Belongings>,
) {
  const log = createChangeLog();
  const revocation = await createRevocation({ documents, log, clock, logger: NO_LOGGER });
  const endings = endingsOf(revocation, belongings);
  const users = await createUsers({ documents, log, clock, logger: NO_LOGGER, endings });
  return { log, revocation, users };
}
