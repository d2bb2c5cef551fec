import { bookings } from '../../projections/bookings.ts';
import type { Users } from '../auth/users.ts';
import type { NamedAddress } from '../domain/email-address.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { Queries } from '../queries/queries.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import { createCompose } from './compose/compose.ts';
import type { AccountContacts } from './contacts.ts';
import type { Compose } from './new-mail.ts';
import type { MailPreferences } from './preferences.ts';
import { createReaders, createRecipients, MAILED, type MembersOf } from './recipients.ts';
import { createReminders } from './reminders.ts';
import type { Unsubscribing } from './unsubscribing.ts';

/** Who mails come from that are kept in the inbox instead of sent. */
export const INBOX_SENDER: NamedAddress = { name: 'Venue Booking', address: 'bookings@localhost' };

export type MailContent = Awaited<ReturnType<typeof createMailContent>>;

/** What mails say, who gets them, and when (docs/decisions/mail.md). */
export async function createMailContent(deps: {
  readonly readModels: ReadModels;
  readonly personalData: Pick<PersonalData, 'isForgotten'>;
  readonly queries: Queries;
  readonly users: Pick<Users, 'get'>;
  readonly preferences: MailPreferences;
  readonly contacts: AccountContacts;
  readonly unsubscribing: Unsubscribing;
  readonly membersOf: MembersOf;
  readonly webhooks: Pick<Webhooks, 'lastError'>;
  readonly publicUrl: string;
  readonly logId: string;
  readonly sender: NamedAddress;
  readonly clock: Clock;
  readonly links: Compose;
}) {
  const { readModels, personalData, queries, users, preferences, contacts, membersOf, webhooks } = deps;
  return {
    preferences,
    contacts,
    unsubscribing: deps.unsubscribing,
    recipients: {
      ...MAILED,
      of: createRecipients({
        membersOf,
        preferences,
        booking: (bookingId) => readModels.collection(bookings).get(String(bookingId)),
        passwordChangedAt: async (userId) => (await users.get(userId))?.passwordChangedAt,
      }),
    },
    reminders: createReminders({
      bookings: queries.reminders,
      readersOf: createReaders({ membersOf, preferences }),
    }),
    compose: createCompose({
      ...deps,
      lastErrorOf: webhooks.lastError,
      user: users.get,
      isForgotten: personalData.isForgotten,
    }),
  };
}
