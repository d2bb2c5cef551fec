import { createAddressConfirmation } from './auth/address-confirmation.ts';
import { createEndings } from './auth/endings.ts';
import { openInvitationRecords } from './auth/invitation-records.ts';
import { createInvitations } from './auth/invitations.ts';
import { createLinks } from './auth/links.ts';
import { createPasswordReset } from './auth/password-reset.ts';
import { createSignUpLimits } from './auth/sign-up-limits.ts';
import { openSignUpRecords } from './auth/sign-up-records.ts';
import { createSignUps } from './auth/sign-ups.ts';
import { type IsSuspended, SUSPENDED } from './auth/suspension.ts';
import { openUserLookups } from './auth/user-lookups.ts';
import { createUsers } from './auth/users.ts';
import { openAttemptCounts } from './authorization-server/attempt-counts.ts';
import { createRevocation } from './authorization-server/revocation.ts';
import type { Base } from './base.ts';
import type { Commands } from './commands/commands.ts';
import { openCheckedFiles } from './console/sessions/checked-files.ts';
import { deleteSessionsOf } from './console/sessions/session-records.ts';
import { type AccountKey, accountOfKey, brandOf } from './domain/account.ts';
import { createContactConfirmation } from './mail/contact-confirmation.ts';
import { createAccountContacts } from './mail/contacts.ts';
import type { Mail } from './mail/mail.ts';
import { createMailPreferences } from './mail/preferences.ts';
import type { PersonalData } from './personal-data/personal-data.ts';
import { createAccountQueries } from './queries/accounts.ts';
import { Unavailable } from './runtime/unavailable.ts';

/** Limits the mail that a user can send to addresses of others, by changing the own one or that of an account. */
const ADDRESSES_PER_HOUR = { max: 5, windowMs: 60 * 60_000 };
/** Limits the mail that the Managers of an account can send to addresses of others, by withdrawing and inviting again. */
const INVITATIONS_PER_DAY = { max: 100, windowMs: 24 * 60 * 60_000 };

/** The same two of a brand that signed up, until a community knows it: anyone can sign up another brand. */
const OF_STRANGER_PER_DAY = { max: 3, windowMs: 24 * 60 * 60_000 };

/** Passwords typed for one sign-up, on another device than the one on which it began. */
const SIGN_UP_PASSWORDS = { max: 10, windowMs: 24 * 60 * 60_000 };

/** Assembles users with what ends with them, and what changes them through a link in a mail. */
export async function openPeople(
  { config, logger, clock, documents, projector: { readModels } }: Base,
  {
    commands: { membership: log, calendarFeeds, catalogue, bookings },
    personalData,
    mail,
    isSuspended,
  }: {
    readonly commands: Commands;
    readonly personalData: PersonalData;
    readonly mail: Mail;
    readonly isSuspended: IsSuspended;
  },
) {
  const { secretKey, publicUrl } = config;
  const preferences = await createMailPreferences({ documents });
  const checkedFiles = await openCheckedFiles({ documents, personalData, clock });
  const revocation = await createRevocation({ documents, log, clock, logger });
  const userLookups = await openUserLookups(documents);
  const invitationRecords = await openInvitationRecords({ documents, log, clock, logger, users: userLookups });
  const signUpRecords = await openSignUpRecords({ documents, secretKey, clock });
  const endings = createEndings({
    revocation,
    signUps: signUpRecords,
    calendarFeeds,
    preferences,
    checkedFiles,
    mail,
    sessions: { deleteAllOf: (userId) => deleteSessionsOf(documents, userId) },
    invitations: invitationRecords,
  });
  const users = await createUsers({ documents, log, clock, logger, endings });

  const counts = await openAttemptCounts({ documents, secretKey, clock });
  const links = createLinks({ secretKey, clock });
  const linked = { users, links, mails: mail, clock, publicUrl };

  const accounts = createAccountQueries({ readModels });

  /** Counts a mail that a brand has sent to an address of its choice. @returns the wait in milliseconds for a stranger that has sent too many */
  async function countOfStranger(what: string, account: AccountKey): Promise<number> {
    const sender = accountOfKey(account);
    if (sender === undefined || !(await accounts.isOfStranger(sender))) return 0;
    return counts.add([what, 'of a stranger', account], OF_STRANGER_PER_DAY);
  }
  const contacts = await createAccountContacts({ documents, personalData, clock });
  return {
    preferences,
    checkedFiles,
    revocation,
    endings,
    users,
    links,
    contacts,
    invitationRecords,
    passwordReset: createPasswordReset({ ...linked, logger }),
    addressConfirmation: createAddressConfirmation({
      ...linked,
      countChange: (userId) => counts.add(['address', userId], ADDRESSES_PER_HOUR),
    }),
    contactConfirmation: createContactConfirmation({
      ...linked,
      contacts,
      isSuspended,
      countChange: async (account) => {
        const waitMs = await countOfStranger('contact', account);
        return waitMs > 0 ? waitMs : counts.add(['contact', account], ADDRESSES_PER_HOUR);
      },
    }),
    signUps: createSignUps({
      ...linked,
      records: signUpRecords,
      countSignUp: createSignUpLimits({ counts, perDay: config.signUpsPerDay }),
      countPassword: (id) => counts.add(['sign-up password', id], SIGN_UP_PASSWORDS),
      nextBrandId: catalogue.nextBrandId,
      addBrand: catalogue.addBrandOf,
      async request(wanted, context) {
        if ((await accounts.name(brandOf(wanted))) === undefined)
          throw new Unavailable(`The read models do not show brand ${wanted.brandId} yet`);
        return (await isSuspended(brandOf(wanted))) ? SUSPENDED : bookings.request(wanted, context);
      },
    }),
    invitations: createInvitations({
      ...linked,
      records: invitationRecords,
      isSuspended,
      async countInvitation(account) {
        const waitMs = await countOfStranger('invitations', account);
        return waitMs > 0 ? waitMs : counts.add(['invitations', account], INVITATIONS_PER_DAY);
      },
    }),
  };
}
