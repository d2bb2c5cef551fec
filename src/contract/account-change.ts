import type { NamedChange } from '../domain/account-change.ts';
import { WEEKDAYS } from '../domain/calendar.ts';
import { HOUSE_DESCRIPTION, SPACE_DESCRIPTION } from '../domain/description.ts';
import type {
  ClosureAdded,
  CustomerDescribed,
  DayHours,
  NewBrands,
  Recorded,
  SpaceChanged,
  SpaceTerms,
} from '../domain/events.ts';
import { hoursBetween } from '../domain/hours.ts';
import { permissionNames } from '../domain/permissions.ts';
import type { Opened, Readable } from '../domain/personal-text.ts';
import { picked } from '../domain/picked.ts';
import { formatAmount, toAmount } from '../domain/pricing.ts';
import { webhookEventNames } from '../domain/webhook.ts';
import { describedFields } from './description.ts';
import { changedFields, type Fields, fieldsOfBooking, toPublicActor } from './history-entry.ts';
import type { Changes } from './schemas/history-entry.ts';

/** A change of an account as the command line prints it with `--json`. */
export const toOperatorAccountChange = (change: NamedChange) => {
  const { event, topic, of, name, by } = change;
  return {
    id: event.id,
    at: event.metadata.at,
    event: event.type,
    topic,
    of: { ...picked(of, ['kind', 'id']), name },
    actor: toPublicActor(by),
    changes: changesOf(change),
    ...picked(event, ['stream', 'revision']),
  };
};

/** The changes of an event, under public names and in public units. For a space, a community or a closed time also the previous values. */
export function changesOf({ event, before, replaced }: Pick<NamedChange, 'event' | 'before' | 'replaced'>): Changes {
  if (event.type === 'ClosureAdded' && replaced !== undefined) return changesOfClosure(event.data, replaced);
  return changedFields(
    fieldsOf(event),
    before === undefined
      ? {}
      : {
          ...termsOf(before),
          timeZone: before.timeZone,
          photos: before.photos?.photos.length ?? 0,
          newBrands: NEW_BRANDS_LABELS[('newBrands' in before && before.newBrands) || 'askNothing'],
          specialHours: specialHoursBefore(event, before),
          ...describedFields({ ...('facts' in before && before.facts), ...('house' in before && before.house) }),
        },
  );
}

/** What happens to requests of new brands. */
const NEW_BRANDS_LABELS: Readonly<Record<NewBrands, string>> = { wait: 'wait', askNothing: 'ask nothing' };

type ClosureFacts = Opened<ClosureAdded['data']>;

/** The days that change, and what changes on them. */
function changesOfClosure(data: ClosureFacts, replaced: ClosureFacts): Changes {
  const { hours, title = '', ...days } = fieldsOfClosure(data);
  const { hours: hoursBefore, title: titleBefore = '' } = fieldsOfClosure(replaced);
  return {
    ...changedFields(days, {}),
    ...(hours !== hoursBefore && changedFields({ hours }, { hours: hoursBefore })),
    ...(title !== titleBefore && changedFields({ title: title || 'none' }, { title: titleBefore || 'none' })),
  };
}

const fieldsOfClosure = ({ kind, spaceIds, from, to, weekdays, start, until, title }: ClosureFacts) => ({
  kind,
  spaces: spaceIds.join(', '),
  firstDay: from,
  lastDay: to,
  weekdays: weekdays?.join(', '),
  hours: hoursBetween(start, until),
  title,
});

/** The special hours of the dates of an event before it. */
function specialHoursBefore(event: NamedChange['event'], before: NonNullable<NamedChange['before']>) {
  if (event.type !== 'SpaceChanged' || event.data.dates === undefined) return undefined;
  const special = 'special' in before ? (before.special ?? {}) : {};
  return datesText(event.data.dates.map(({ date }) => ({ date, hours: special[date] ?? 'none' })));
}

/** `2026-12-24 10:00–14:00, 2026-12-25 none`. */
const datesText = (dates: SpaceChanged['data']['dates']): string | undefined =>
  dates?.map(({ date, hours }) => `${date} ${hours === 'none' ? hours : hoursText(hours)}`).join(', ');

function fieldsOf(event: Readable<Recorded>): Fields {
  switch (event.type) {
    case 'BookingRequested':
    case 'BookingApproved':
    case 'BookingCancelled':
    case 'BookingCompleted':
    case 'BookingMoveAsked':
    case 'BookingMoveAgreed':
    case 'BookingMoveEnded':
    case 'BookingMoved':
      return fieldsOfBooking(event);
    case 'HoursLeft':
      return { bookingId: event.data.bookingId, status: 'left' };
    case 'HoursRefused':
      return { bookingId: event.data.bookingId, status: 'refused', reason: event.data.reason };
    case 'ReviewPosted': {
      const { bookingId, spaceName, brandName, rating, title, content } = event.data;
      return { bookingId, spaceName, brandName, rating, title, content };
    }
    case 'ReviewAnswered':
      return { bookingId: event.data.bookingId, answer: event.data.answer };
    case 'MessageSent':
      return { bookingId: event.data.bookingId, from: event.data.from, text: event.data.text };
    case 'QuestionSent':
      return picked(event.data, ['spaceId', 'brandId', 'from', 'text']);
    case 'BookingNoted':
      return { bookingId: event.data.bookingId, note: event.data.note };
    case 'CommunityAdded':
    case 'CommunityChanged':
      return { name: event.data.name, timeZone: event.data.timeZone };
    case 'CommunityNewBrandsChanged':
      return { newBrands: NEW_BRANDS_LABELS[event.data.newBrands] };
    case 'CommunityDescribed':
      return describedFields(picked(event.data, HOUSE_DESCRIPTION));
    case 'SpaceDescribed':
      return describedFields(picked(event.data, SPACE_DESCRIPTION));
    case 'SpacePhotosChanged':
    case 'CommunityPhotosChanged':
      return { photos: event.data.photos.length };
    case 'BrandAdded':
      return { name: event.data.name };
    case 'BrandSuspended':
      return { status: 'suspended', reason: event.data.reason };
    case 'BrandReinstated':
      return { status: 'reinstated' };
    case 'BrandAdmitted':
      return { status: 'let in' };
    case 'BrandTurnedAway':
      return { status: 'turned away' };
    case 'BrandTrusted':
      return { status: 'trusted' };
    case 'CustomerDescribed':
      return fieldsOfCustomer(event.data);
    case 'SpaceAdded':
      return { status: 'open', ...termsOf(event.data) };
    case 'SpaceChanged':
      return { ...termsOf(event.data), timeZone: event.data.timeZone, specialHours: datesText(event.data.dates) };
    case 'SpaceClosed':
      return { status: 'closed' };
    case 'SpaceOpened':
      return { status: 'open' };
    case 'TimeClosed': {
      const { closureId, date, kind, start, until, title } = event.data;
      return { closureId, date, kind, hours: hoursBetween(start, until), title };
    }
    case 'TimeReopened':
      return { closureId: event.data.closureId, date: event.data.date, status: 'reopened' };
    case 'ClosureAdded':
      return fieldsOfClosure(event.data);
    case 'ClosureDateLeftOut':
      return { date: event.data.date, status: 'left out' };
    case 'ClosureEnded':
      return { status: 'ended' };
    case 'ApiKeyIssued': {
      const { label, permissions, preview } = event.data;
      return { label, permissions: permissionNames(permissions).join(', '), preview };
    }
    case 'ApiKeyRevoked':
      return { status: 'revoked' };
    case 'CalendarFeedAdded': {
      const { userId, spaceId, showsNames, isDoor, preview } = event.data;
      const shows = `${showsNames ? 'names' : 'busy times'}${isDoor ? ' at the door' : ''}`;
      return { userId, spaceId, shows, address: preview };
    }
    case 'CalendarFeedEnded':
      return { userId: event.data.userId, status: 'ended' };
    case 'WebhookRegistered':
      return { url: event.data.url, events: webhookEventNames(event.data.events).join(', ') };
    case 'WebhookSecretRotated':
      return { previousSecretUntil: event.data.previousUntil };
    case 'WebhookDisabled':
      return { status: 'disabled', reason: event.data.reason };
    case 'WebhookEnabled':
      return { status: 'enabled' };
    case 'WebhookRemoved':
      return { status: 'removed' };
    case 'MemberAdded':
    case 'MemberRoleChanged':
    case 'MemberInvited':
      return { role: event.data.role };
    case 'InvitationWithdrawn':
      return { status: 'withdrawn' };
    case 'AppConnected':
      return { userId: event.data.userId, scopes: event.data.scopes.join(' ') };
    case 'AppDisconnected':
      return { userId: event.data.userId };
    case 'ClientAdded':
      return { name: event.data.name };
    case 'SubjectForgotten':
      return { personalData: 'erased' };
    case 'MemberRemoved':
    case 'PasswordChanged':
    case 'EmailChanged':
    case 'ClientRemoved':
    case 'IdsReserved':
    case 'LogCreated':
    case 'ProjectionEventSkipped':
      return {};
    default:
      return event satisfies never;
  }
}

function fieldsOfCustomer({ discountPercent, fees, contact, note }: Opened<CustomerDescribed['data']>): Fields {
  return {
    discountPercent: discountPercent === null ? 'none' : discountPercent,
    agreedFees:
      fees === null ? 'none' : fees?.map(({ spaceId, eventFee }) => `${spaceId}: ${formatAmount(eventFee)}`).join(', '),
    contact: contact === null ? 'none' : contact,
    note: note === null ? 'none' : note,
  };
}

/** The terms and status of a space under public names and in public units. Absent ones are undefined. */
function termsOf(of: Partial<SpaceTerms> & { readonly active?: boolean }): Fields {
  const { name, windowStart, windowEnd, durationHours, eventFee, answerHours, active } = of;
  const { week, gapHours, noticeHours, horizonDays, cancelHours } = of;
  return {
    status: active === undefined ? undefined : active ? 'open' : 'closed',
    name,
    windowStart,
    windowEnd,
    durationHours,
    eventFee: eventFee === undefined ? undefined : toAmount(eventFee),
    answerHours,
    week: week?.length === 0 ? 'the same every day' : week?.map(weekdayText).join(', '),
    gapHours,
    noticeHours,
    horizonDays,
    cancelHours,
  };
}

const weekdayText = (hours: DayHours | 'closed', day: number): string =>
  `${WEEKDAYS[day]} ${hours === 'closed' ? hours : hoursText(hours)}`;

/** `09:00–18:00`, and the fee if the day has one of its own. */
function hoursText({ windowStart, windowEnd, eventFee }: DayHours): string {
  const hours = hoursBetween(windowStart, windowEnd);
  return eventFee === undefined ? hours : `${hours}, ${formatAmount(eventFee)}`;
}
