import type { ReadableBooking } from '../../../projections/bookings.ts';
import { furtherDetails } from '../../contract/booking.ts';
import { namedBooking } from '../../contract/calendar-event.ts';
import { HOUSE_DESCRIPTION_LABELS, SPACE_DESCRIPTION_LABELS } from '../../contract/description.ts';
import { type Account, brandOf, communityOf } from '../../domain/account.ts';
import type { ApprovedAtOnce, MovePlace } from '../../domain/booking-events.ts';
import { cancellableUntil, expiryOf } from '../../domain/booking-moments.ts';
import type { Community } from '../../domain/community.ts';
import { defined } from '../../domain/defined.ts';
import { addressLine } from '../../domain/description.ts';
import { RATING, THREAD_MESSAGE } from '../../domain/limits.ts';
import { isAtLeast } from '../../domain/roles.ts';
import { clock, hours, longDate, momentIn, shortDate, shortened, zoneName } from '../../html/formats.ts';
import { namedText } from '../../html/html.ts';
import { Unavailable } from '../../runtime/unavailable.ts';
import type { ChosenKind } from '../kinds.ts';
import type { NewMail } from '../new-mail.ts';
import { isTomorrow } from '../reminders.ts';
import { foreignAccountName, foreignName, foreignText } from './foreign-name.ts';
import type { ComposeDeps, Reader, Skipped, Written } from './written.ts';

type Deps = Pick<ComposeDeps, 'queries' | 'contacts' | 'publicUrl' | 'logId' | 'sender' | 'clock'>;
type About = { readonly kind: ChosenKind; readonly about: NewMail['about']; readonly reader: Reader };

/** A booking as the reader of a mail sees it. */
type Seen = {
  readonly booking: ReadableBooking;
  readonly reader: Reader;
  readonly isCommunity: boolean;
  /** The name of the other party. */
  readonly other: string;
  readonly now: number;
};

/** What a sort of mail says about a booking. */
type Said = { readonly title: string; readonly intro: readonly string[]; readonly action?: string };

/** The mail, and what a digest says instead: what happened, and to which booking. */
export type BookingWritten = Written & { readonly title: string; readonly briefly: string };

/** A mail about a booking: its facts, a link to it, and the contact address of the other party. */
export async function bookingMail(deps: Deps, { kind, about, reader }: About): Promise<BookingWritten | Skipped> {
  const { queries, contacts, publicUrl, logId, clock } = deps;
  const { account } = reader;
  const booking = await queries.bookings.get(account, Number(about.bookingId));
  if (booking === undefined) throw new Unavailable(`The read models do not show booking ${about.bookingId} yet`);
  const isCommunity = account.kind === 'Community';
  const community = await queries.spaces.community(booking.communityId);
  const other = isCommunity
    ? foreignName(booking.brandName)
    : await foreignAccountName(queries.accounts, communityOf(booking), clock());
  const seen: Seen = { booking, reader, isCommunity, other, now: clock() };
  const skipped = outdated(kind, seen, about);
  if (skipped !== undefined) return { skipped };

  const review = kind === 'ReviewPublished' ? await reviewFacts(deps, booking) : undefined;
  const written =
    kind === 'Message' ? await messageFacts(deps, booking, about) : await moveReason(deps, seen, { kind, about });
  const said = SAID[kind](seen, review);
  const replyTo = await contacts.of(otherParty(booking, account));
  return {
    subject: `${said.title}: ${[...(isCommunity ? [other] : []), spaceOf(seen), briefWhen(booking)].join(', ')}`,
    title: said.title,
    briefly: [spaceOf(seen), other, briefWhen(booking), ...(kind === 'BookingApproved' ? wasCharged(seen) : [])].join(
      '\n',
    ),
    intro: said.intro,
    facts: [
      ...written,
      ...(review === undefined ? bookingFacts(seen) : [...placeOf(seen), ...review.facts]),
      ...(tellsTheWay(kind) && !isCommunity ? await wayThere(deps, booking, community) : []),
      ...(kind === 'BookingApproved' && replyTo !== undefined ? [['Contact', replyTo] as const] : []),
    ],
    action: { text: said.action ?? 'See the booking', url: `${publicUrl}/console/bookings/${booking.bookingId}` },
    ...(replyTo !== undefined && { replyTo }),
    ...(hasCalendar(kind, booking) && {
      calendar: [namedBooking(booking, account, { community, publicUrl, logId })],
    }),
  };
}

const MOVE_ENDED = 'The move was answered, taken back or replaced meanwhile.';
const ANSWERED = 'The request was answered, withdrawn or expired meanwhile.';

/** Why a mail is not sent any more. */
function outdated(kind: ChosenKind, { booking, now }: Seen, about: NewMail['about']): string | undefined {
  const { status, bookingId, approval } = booking;
  switch (kind) {
    case 'BookingRequested':
      if (approval !== undefined) return status === 'Cancelled' ? 'The booking was cancelled meanwhile.' : undefined;
      return status === 'Pending' ? undefined : ANSWERED;
    case 'AnswerDue':
      return status === 'Pending' ? undefined : ANSWERED;
    case 'BookingApproved':
      // A booking never becomes pending again.
      if (status === 'Pending') throw new Unavailable(`The read models do not show yet that ${bookingId} was approved`);
      return status === 'Cancelled' ? 'The booking was cancelled meanwhile.' : undefined;
    case 'BookingDeclined':
    case 'BookingCancelled':
    case 'BookingExpired':
      if (status !== 'Cancelled') throw new Unavailable(`The read models do not show yet that ${bookingId} ended`);
      return undefined;
    case 'EventTomorrow':
      return status === 'Approved' && isTomorrow(booking, now) ? undefined : 'The event is not tomorrow any more.';
    case 'BookingMoveAsked': {
      const { moveId } = booking.move ?? {};
      // Of another move that waits by now, there is a mail of its own. Those of earlier releases do not say of which they are.
      return moveId === undefined || (about.moveId ?? moveId) !== moveId ? MOVE_ENDED : undefined;
    }
    case 'BookingMoveEnded':
    case 'BookingMoved':
      return status === 'Cancelled' ? 'The booking was cancelled meanwhile.' : undefined;
    case 'Message':
    case 'ReviewPublished':
      return undefined;
    default:
      return kind satisfies never;
  }
}

const otherParty = (booking: ReadableBooking, { kind }: Account): Account =>
  kind === 'Community' ? brandOf(booking) : communityOf(booking);

/** Whether the calendar of the reader changes: a request that was never approved is in none. */
const hasCalendar = (kind: ChosenKind, { charge }: ReadableBooking): boolean =>
  kind === 'BookingApproved' || ((kind === 'BookingCancelled' || kind === 'BookingMoved') && charge !== undefined);

const tellsTheWay = (kind: ChosenKind): boolean => kind === 'BookingApproved' || kind === 'EventTomorrow';

/** Characters of directions in a mail. */
const MAX_DIRECTIONS = 600;

/** Where the event is and how to get in, as far as the community says. */
async function wayThere(
  { queries }: Deps,
  booking: ReadableBooking,
  community: Community | undefined,
): Promise<readonly (readonly [string, string])[]> {
  const space = await queries.spaces.get(brandOf(booking), booking.spaceId);
  if (space === undefined) return [];
  const of = await queries.descriptions.ofNamed({ space, ...defined({ house: community?.house }) });
  const facts = [
    [HOUSE_DESCRIPTION_LABELS.address, of.house.address && addressLine(of.house.address)],
    [HOUSE_DESCRIPTION_LABELS.directions, of.house.directions],
    [SPACE_DESCRIPTION_LABELS.access, of.space.access],
  ] as const;
  return facts.flatMap(([label, text]) =>
    text === undefined ? [] : [[label, foreignText(text, MAX_DIRECTIONS)] as const],
  );
}

type Review = { readonly rating: number; readonly facts: readonly (readonly [string, string])[] };

async function reviewFacts({ queries }: Deps, booking: ReadableBooking): Promise<Review> {
  const review = await queries.reviews.ofBooking(booking);
  if (review === undefined) throw new Unavailable(`The read models do not show the review of ${booking.bookingId} yet`);
  const { rating, title, content } = review;
  return {
    rating,
    facts: [
      ['Rating', `${'★'.repeat(rating)} ${starsOf(rating)}`],
      ['Title', title],
      ['Review', content],
    ],
  };
}

/** The message, which people outside the account wrote. */
async function messageFacts(
  { queries }: Deps,
  booking: ReadableBooking,
  { message }: NewMail['about'],
): Promise<readonly (readonly [string, string])[]> {
  const stored = await queries.threads.message(booking, Number(message));
  if (stored === undefined)
    throw new Unavailable(`The read models do not show message ${message} of ${booking.bookingId} yet`);
  return [['Message', foreignText(stored.text, THREAD_MESSAGE.max)]];
}

/** Why a party asks for a move, or why it ended, if that was said. Only the log holds it. */
async function moveReason(
  { queries }: Deps,
  { booking, reader }: Seen,
  { kind, about }: Omit<About, 'reader'>,
): Promise<readonly (readonly [string, string])[]> {
  if (kind !== 'BookingMoveAsked' && kind !== 'BookingMoveEnded') return [];
  const history = await queries.bookingHistory.ofBooking(reader.account, booking.bookingId);
  // Mails of earlier releases do not say of which move they are: they are about the last one.
  for (const { event } of history?.steps.toReversed() ?? [])
    if (event.type === kind && (about.moveId ?? event.data.moveId) === event.data.moveId)
      return event.data.reason === undefined ? [] : [['Reason', event.data.reason]];
  return [];
}

const starsOf = (rating: number): string => `${rating} of ${RATING.max} stars`;

/** For a brand, the name of the space is one that others chose. */
const spaceOf = ({ booking, isCommunity }: Seen): string =>
  isCommunity ? namedText(shortened(booking.spaceName)) : foreignText(booking.spaceName);
const momentOf = ({ booking }: Seen, moment: number): string =>
  `${momentIn(booking.timeZone, moment)} ${zoneName(booking.timeZone)}`;
const wasApproved = ({ booking }: Seen): boolean => booking.charge !== undefined;

/** Whether the account of the reader ended the booking, by another of its members, a key or an app. */
const isOwnDoing = ({ booking, isCommunity }: Seen): boolean =>
  booking.cancelledBy === (isCommunity ? 'Community' : 'Brand');

const ANSWER_IT = 'Answer the request';
const SEE_IT = 'See the request';
const mayAnswer = ({ reader }: Seen): boolean => isAtLeast(reader.role, 'Coordinator');
const answerLabel = (seen: Seen): string => (mayAnswer(seen) ? ANSWER_IT : SEE_IT);

/** `$115.00 was charged.` Nothing for a reader who does not see amounts. */
const sentenceOf = (
  { booking: { currency }, reader: { amount } }: Seen,
  cents: number,
  what: string,
): readonly string[] => (amount === undefined ? [] : [`${amount(cents, currency)} ${what}.`]);

const wasCharged = (seen: Seen): readonly string[] =>
  sentenceOf(seen, seen.booking.charge ?? seen.booking.totalPrice, 'was charged');

/** How a request was approved. */
const APPROVED: { readonly [A in ApprovedAtOnce | 'answered']: (seen: Seen) => string } = {
  answered: (seen) => `${seen.other} approved your request for ${spaceOf(seen)}.`,
  trusted: (seen) => `Your request for ${spaceOf(seen)} of ${seen.other} was approved at once.`,
  entered: (seen) => `${seen.other} booked ${spaceOf(seen)} for you.`,
};

const SAID: { readonly [K in ChosenKind]: (seen: Seen, review: Review | undefined) => Said } = {
  BookingRequested: (seen) => {
    const until = momentOf(seen, expiryOf(seen.booking));
    // For the brand it is the receipt of the user who requested.
    if (!seen.isCommunity)
      return {
        title: 'Requested',
        intro: [
          `You requested ${spaceOf(seen)} of ${seen.other}.`,
          `The answer comes by ${until}, or the request expires. Nothing is charged before it is approved.`,
        ],
        action: SEE_IT,
      };
    if (seen.booking.approval === 'trusted')
      return {
        title: 'Booked',
        intro: [`${seen.other}, which you trust, booked ${spaceOf(seen)}. It is approved.`],
      };
    return {
      title: 'Request',
      intro: [`${seen.other} requests ${spaceOf(seen)}.`, `Answer by ${until}, or the request expires.`],
      action: answerLabel(seen),
    };
  },

  AnswerDue: (seen) => ({
    title: 'Answer soon',
    intro: [
      `The request of ${seen.other} for ${spaceOf(seen)} has not been answered yet.`,
      `It expires on ${momentOf(seen, expiryOf(seen.booking))}.`,
    ],
    action: ANSWER_IT,
  }),

  BookingApproved: (seen) => ({
    title: 'Approved',
    intro: [
      APPROVED[seen.booking.approval ?? 'answered'](seen),
      ...wasCharged(seen),
      `You can cancel until ${momentOf(seen, cancellableUntil(seen.booking))}. What was charged is then refunded.`,
    ],
  }),

  BookingDeclined: (seen) => ({
    title: 'Declined',
    intro: [`${seen.other} declined your request for ${spaceOf(seen)}. Nothing was charged.`],
    action: SEE_IT,
  }),

  BookingCancelled: (seen) => {
    const isRequest = !wasApproved(seen);
    const what = isRequest ? 'request' : 'booking';
    const did = isRequest ? 'withdrew' : 'cancelled';
    const first = isOwnDoing(seen)
      ? `Your ${what} of ${spaceOf(seen)} was ${isRequest ? 'withdrawn' : 'cancelled'} by your account.`
      : `${seen.other} ${did} ${seen.isCommunity ? 'its' : 'your'} ${what} of ${spaceOf(seen)}.`;
    const { refund = 0 } = seen.booking;
    return {
      title: isRequest ? 'Withdrawn' : 'Cancelled',
      intro: [first, ...(refund > 0 ? sentenceOf(seen, refund, 'was refunded') : [])],
      action: isRequest ? SEE_IT : 'See the booking',
    };
  },

  BookingExpired: (seen) => ({
    title: 'Expired',
    intro: [
      seen.isCommunity
        ? `The request of ${seen.other} for ${spaceOf(seen)} was not answered in time.`
        : `${seen.other} did not answer your request for ${spaceOf(seen)} in time. Nothing was charged.`,
    ],
    action: SEE_IT,
  }),

  EventTomorrow: (seen) => ({
    title: 'Tomorrow',
    intro: [
      seen.isCommunity
        ? `The event of ${seen.other} in ${spaceOf(seen)} is tomorrow.`
        : `Your event in ${spaceOf(seen)} of ${seen.other} is tomorrow.`,
    ],
  }),

  Message: (seen) => ({
    title: 'Message',
    intro: [`${seen.other} wrote to you about ${spaceOf(seen)}.`],
    action: mayAnswer(seen) ? 'Answer the message' : 'See the message',
  }),

  BookingMoveAsked: (seen) => {
    const { move } = seen.booking;
    const to = move === undefined ? '' : ` to ${placeTo(seen, move.to)}`;
    return {
      title: 'Move?',
      intro: [
        `${seen.other} asks to move the booking of ${spaceOf(seen)}${to}.`,
        `It keeps its hours until you accept. ${priceAfter(seen)}`,
      ],
      action: mayAnswer(seen) ? 'Answer the move' : 'See the booking',
    };
  },

  BookingMoveEnded: (seen) => ({
    title: 'Not moved',
    intro: [`The booking of ${spaceOf(seen)} with ${seen.other} stays where it is.`],
  }),

  BookingMoved: (seen) => ({
    title: 'Moved',
    intro: [`The booking with ${seen.other} was moved. It is in ${spaceOf(seen)} now.`],
  }),

  ReviewPublished: (seen, review) => ({
    title: `Review, ${starsOf(review?.rating ?? 0)}`,
    intro: [`${seen.other} reviewed ${spaceOf(seen)}.`],
    action: 'See the review',
  }),
};

/** What a booking costs once it has moved. */
function priceAfter({ booking: { move, totalPrice, currency }, reader: { amount } }: Seen): string {
  if (move?.newPrice === undefined) return 'The price stays as agreed.';
  if (amount === undefined) return 'It then has the price there.';
  return `It then costs ${amount(move.newPrice.totalPrice, currency)} instead of ${amount(totalPrice, currency)}.`;
}

/** Where a booking is to move. */
const placeTo = ({ isCommunity }: Seen, { spaceName, date, startHour }: MovePlace): string =>
  `${isCommunity ? namedText(shortened(spaceName)) : foreignText(spaceName)}, ${shortDate(date)}, ${clock(startHour)}`;

const briefWhen = ({ date, startHour, freeFrom }: ReadableBooking): string =>
  `${shortDate(date)}, ${hours(startHour, freeFrom)}`;

const placeOf = (seen: Seen): readonly (readonly [string, string])[] => [
  ['Space', seen.isCommunity ? seen.booking.spaceName : spaceOf(seen)],
  [seen.isCommunity ? 'Brand' : 'Community', seen.other],
  ['When', whenOf(seen.booking)],
];

const whenOf = ({ date, startHour, freeFrom, timeZone }: ReadableBooking): string =>
  `${longDate(date)}, ${hours(startHour, freeFrom)}, ${zoneName(timeZone)}`;

/** The facts that the page of the booking shows. */
function bookingFacts(seen: Seen): readonly (readonly [string, string])[] {
  const { booking, isCommunity, reader } = seen;
  const { status, reason, refund = 0 } = booking;
  const price = (label: string, cents: number): readonly (readonly [string, string])[] =>
    reader.amount === undefined ? [] : [[label, reader.amount(cents, booking.currency)]];
  return [
    ...placeOf(seen),
    ...furtherDetails(booking).map(({ label, value }): [string, string] => [label, String(value)]),
    ...(isCommunity ? price('You earn', booking.eventFee) : []),
    ...price(isCommunity ? 'The brand pays' : 'Total', booking.totalPrice),
    ...(status === 'Pending' ? ([['Answer by', momentOf(seen, expiryOf(booking))]] as const) : []),
    ...(status === 'Cancelled' && reason ? ([['Reason', reason]] as const) : []),
    ...(refund > 0 ? price('Refunded', refund) : []),
  ];
}
