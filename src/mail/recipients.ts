import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import { messages } from '../../projections/messages.ts';
import { questionMessages } from '../../projections/question-messages.ts';
import { webhooks } from '../../projections/webhooks.ts';
import type { Users } from '../auth/users.ts';
import {
  type Account,
  type AccountKey,
  accountKey,
  accountOfKey,
  brandOf,
  communityOf,
  partiesOf,
} from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import type {
  BookingCancelled,
  BookingMoveAsked,
  BookingMoved,
  BookingMoveEnded,
  EventType,
  Recorded,
} from '../domain/events.ts';
import type { BookingId, SpaceId } from '../domain/ids.ts';
import { picked } from '../domain/picked.ts';
import { gatherCalls } from '../event-loop/gathered-calls.ts';
import type { Recipients } from './fan-out.ts';
import { type AlwaysKind, type ChosenKind, mayGet } from './kinds.ts';
import type { NewMail } from './new-mail.ts';
import { type MailPreferences, NO_CHOICES, type Preferences, wants } from './preferences.ts';

export type MembersOf = Users['membersOf'];

type Deps = {
  readonly membersOf: MembersOf;
  readonly preferences: Pick<MailPreferences, 'ofMembers'>;
  /** Whether a booking was approved before it was cancelled. Called once the read models show the event. */
  /** What the read models show of a booking. */
  readonly booking: (bookingId: BookingId) => Promise<Pick<BookingDocument, 'wasApproved' | 'series'> | undefined>;
  /** When the password of a user changed last; undefined if the user was removed. */
  readonly passwordChangedAt: (userId: string) => Promise<string | undefined>;
};

/** The kinds of events that lead to mails, and the read models that must show an event before its mails are made. */
export const MAILED: Pick<Recipients, 'kinds' | 'reads'> = {
  kinds: [
    ...(['BookingRequested', 'BookingApproved', 'BookingCancelled'] satisfies readonly EventType[]),
    ...(['MessageSent', 'QuestionSent'] satisfies readonly EventType[]),
    ...(['BookingMoveAsked', 'BookingMoveEnded', 'BookingMoved', 'ReviewPosted'] satisfies readonly EventType[]),
    ...(['WebhookDisabled', 'ApiKeyIssued', 'MemberRoleChanged', 'PasswordChanged'] satisfies readonly EventType[]),
  ],
  reads: [bookings, messages, questionMessages, webhooks],
};

/** A mail about a booking or a space, to the members of one of its parties. */
export type BookingMail = {
  readonly kind: ChosenKind;
  readonly account: Account;
  readonly about: NewMail['about'] & { readonly spaceId: SpaceId };
};

type Member = Awaited<ReturnType<MembersOf>>[number] & { readonly chosen: Preferences };

/** Finds the members who want a mail about a booking. Mails that are made at the same time read each account once. */
export function createReaders({ membersOf, preferences }: Pick<Deps, 'membersOf' | 'preferences'>) {
  const membersOfKey = gatherCalls(async (keys: readonly AccountKey[]) => {
    const members = keys.map(async (key): Promise<[AccountKey, readonly Member[]]> => {
      const account = accountOfKey(key);
      const all = account === undefined ? [] : await membersOf(account);
      const ids = all.map(({ userId }) => userId);
      const chosen = await preferences.ofMembers(ids, key);
      return [key, all.map((member) => ({ ...member, chosen: chosen.get(member.userId) ?? NO_CHOICES }))];
    });
    return new Map(await Promise.all(members));
  });

  return async ({ kind, account, about }: BookingMail): Promise<readonly string[]> => {
    const members = (await membersOfKey(accountKey(account))) ?? [];
    // Brands choose for all spaces at once: they are not theirs.
    const spaceId = account.kind === 'Community' ? about.spaceId : undefined;
    return members
      .filter(({ role, chosen }) => mayGet(kind, account.kind, role) && wants(chosen, kind, role, spaceId))
      .map(({ userId }) => userId);
  };
}

/**
 * Who is to hear of an event (docs/guides/mail.md). Users get no mail about what they did themselves, except a receipt of their requests, and
 * about the security of their account.
 */
export function createRecipients(deps: Deps): Recipients['of'] {
  const { membersOf, booking, passwordChangedAt } = deps;
  const readersOf = createReaders(deps);

  /**
   * Mails to the members who want them, without the one who did it. A member of both parties gets one, as a member of the first party
   * for which it is wanted.
   */
  async function toReaders(event: Recorded, mails: readonly BookingMail[]): Promise<NewMail[]> {
    const { actor } = event.metadata;
    const all = await Promise.all(
      mails.map(async (mail) => {
        const readers = (await readersOf(mail)).filter((userId) => actor.kind !== 'user' || actor.id !== userId);
        return readers.map((userId) => newMail(event, { ...mail, account: accountKey(mail.account), userId }));
      }),
    );
    const first = new Map<string, NewMail>();
    for (const mail of all.flat()) if (!first.has(mail.userId)) first.set(mail.userId, mail);
    return [...first.values()];
  }

  /** A mail to the user who did it, as a receipt. */
  async function toActor(event: Recorded, mail: BookingMail): Promise<NewMail[]> {
    const { actor } = event.metadata;
    if (actor.kind !== 'user' || !(await readersOf(mail)).includes(actor.id)) return [];
    return [newMail(event, { ...mail, account: accountKey(mail.account), userId: actor.id })];
  }

  async function toManagers(
    event: Recorded,
    kind: AlwaysKind,
    account: Account,
    about: NewMail['about'],
  ): Promise<NewMail[]> {
    const managers = (await membersOf(account)).filter(({ role }) => mayGet(kind, account.kind, role));
    return managers.map(({ userId }) => newMail(event, { kind, userId, account: accountKey(account), about }));
  }

  return async (event) => {
    switch (event.type) {
      case 'BookingRequested': {
        const { approval, series } = event.data;
        const mail = { kind: event.type, about: aboutDay(event.data, series) };
        // The community entered it itself.
        if (approval === 'entered') return [];
        const toCommunity = await toReaders(event, [{ ...mail, account: communityOf(event.data) }]);
        const receipt = approval === undefined ? mail : { ...mail, kind: 'BookingApproved' as const };
        return [...toCommunity, ...(await toActor(event, { ...receipt, account: brandOf(event.data) }))];
      }
      case 'BookingApproved':
        return toReaders(event, [
          {
            kind: event.type,
            account: brandOf(event.data),
            about: aboutDay(event.data, (await booking(event.data.bookingId))?.series),
          },
        ]);
      case 'BookingCancelled':
        return toReaders(event, cancellation(event, await booking(event.data.bookingId)));
      case 'MessageSent':
      case 'QuestionSent': {
        const to = event.data.from === 'Brand' ? communityOf(event.data) : brandOf(event.data);
        const of = event.type === 'MessageSent' ? aboutOf(event.data) : picked(event.data, ['spaceId', 'brandId']);
        return toReaders(event, [{ kind: 'Message', account: to, about: { ...of, message: event.revision } }]);
      }
      case 'BookingMoveAsked':
      case 'BookingMoveEnded':
      case 'BookingMoved':
        return toReaders(event, aboutMove(event));
      case 'ReviewPosted': {
        const about = { ...aboutOf(event.data), reviewId: event.data.reviewId };
        return toReaders(event, [{ kind: 'ReviewPublished', account: communityOf(event.data), about }]);
      }
      case 'WebhookDisabled': {
        const { webhookId, owner } = event.data;
        // The event whose delivery failed last.
        const { causationId: eventId } = event.metadata;
        return toManagers(event, event.type, owner.account, { webhookId, ...defined({ eventId }) });
      }
      case 'ApiKeyIssued':
        return toManagers(event, event.type, event.data.account, { apiKeyId: event.data.apiKeyId, ...byOf(event) });
      case 'MemberRoleChanged': {
        const { userId, account, role } = event.data;
        const about = { role, ...byOf(event) };
        return [newMail(event, { kind: 'RoleChanged', userId, account: accountKey(account), about })];
      }
      case 'PasswordChanged': {
        const { userId } = event.data;
        const at = await passwordChangedAt(userId);
        // The change is one event per account of the user, which all lead to the same mail.
        return at === undefined
          ? []
          : [{ ...newMail(event, { kind: event.type, userId, about: {} }), cause: digitsOf(at) }];
      }
      default:
        return [];
    }
  };
}

/** Who hears that a request or a booking ended: the other party, and on the side that ended it the colleagues. */
function cancellation(
  { data }: Recorded<BookingCancelled>,
  booking: Partial<Pick<BookingDocument, 'wasApproved' | 'series'>> = {},
): readonly BookingMail[] {
  const about = aboutDay(data, booking.series);
  const mail = (kind: ChosenKind) => (account: Account) => ({ kind, account, about });
  if (booking.wasApproved === 'yes' || data.cancelledBy === 'Brand')
    return partiesOf(data).map(mail('BookingCancelled'));
  if (data.cancelledBy === 'Community') return [mail('BookingDeclined')(brandOf(data))];
  return partiesOf(data).map(mail('BookingExpired'));
}

/** Who hears of a move: the party that has not done it itself. Of one that is carried out, both, but its approval tells the brand. */
function aboutMove(event: Recorded<BookingMoveAsked | BookingMoveEnded | BookingMoved>): readonly BookingMail[] {
  const { type: kind, data } = event;
  const isDoneBy =
    event.type === 'BookingMoveAsked'
      ? event.data.askedBy
      : event.type === 'BookingMoveEnded'
        ? event.data.endedBy
        : event.data.status === 'Pending' && 'Brand';
  const about = { ...aboutOf(data), ...(kind !== 'BookingMoved' && { moveId: data.moveId }) };
  return partiesOf(data)
    .filter((account) => account.kind !== isDoneBy)
    .map((account) => ({ kind, account, about }));
}

/** A moment as a part of an id, which has no colons. */
const digitsOf = (moment: string): string => moment.replaceAll(/\D/g, '');

export const aboutOf = ({
  bookingId,
  spaceId,
}: Pick<BookingCancelled['data'], 'bookingId' | 'spaceId'>): BookingMail['about'] => ({ bookingId, spaceId });

/** The same with the series, so that mails about the same decision on its days go out together. */
const aboutDay = (
  data: Pick<BookingCancelled['data'], 'bookingId' | 'spaceId'>,
  series: string | undefined,
): BookingMail['about'] => ({ ...aboutOf(data), ...defined({ series }) });

/** Who did it, as an id. The name is looked up when the mail is sent. */
const byOf = ({ metadata: { actor } }: Recorded): { readonly by: string } => ({ by: `${actor.kind}:${actor.id}` });

const newMail = (event: Recorded, mail: Omit<NewMail, 'cause' | 'at'>): NewMail => ({
  ...mail,
  cause: event.id,
  at: event.metadata.at,
});
