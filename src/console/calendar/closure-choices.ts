import type { BookingDocument } from '../../../projections/bookings.ts';
import type { ReadableClosure } from '../../../projections/closures.ts';
import { daysLater, isPlainDate, localDate } from '../../domain/calendar.ts';
import { isRefusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { clock, counted, hours, shortDate } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import type { Answer, PageContent } from '../parts/answer.ts';
import { placeText, stateOf } from '../parts/booking-views.ts';
import { hasProblems, hiddenField, postForm, select } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import { idOf, type Problems } from '../parts/typed-form.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { decideEach, HALF_A_MESSAGE, messageOf } from '../requests/bulk-outcomes.ts';
import { problemsOfReason, reasonField } from '../requests/decision-forms.ts';
import { choicesPath } from './closure-bookings.ts';
import { CLOSURES, closureRoutes, titleOf } from './closures.ts';

/** Bookings whose choice one form takes: each is offered days, which are searched for. The others follow. */
const MOST_CHOICES = 12;
/** Days that a booking is offered. */
const OFFERED = 3;
/** How far after a booking to look for them, in days. */
const LOOK_AHEAD = 90;

/** What the house chooses for a booking, in the state in which the page showed it. */
type Choice = {
  readonly bookingId: number;
  readonly status: 'Pending' | 'Approved';
  readonly what: 'leave' | 'cancel' | PlainDate;
};

/**
 * The bookings inside a closed time: each is left, cancelled, or proposed to move to a free day at its hour. The rules of cancelling and of
 * moving decide.
 */
export function closureChoicePages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  const ofClosure = closureRoutes(community, queries);

  ofClosure.get(`${CLOSURES}/:id/bookings`, 'Coordinator', (visit, closure) => choicesPage(visit, closure, {}));

  ofClosure.post(`${CLOSURES}/:id/bookings`, 'Coordinator', async (visit, closure): Promise<Answer> => {
    const chosen = choicesIn(visit).filter(({ what }) => what !== 'leave');
    const reason = visit.form.lines('reason');
    const cancels = chosen.some(({ what }) => what === 'cancel');
    const problems: Problems = {
      ...(chosen.length === 0 && { '': 'Choose what becomes of a booking. Nothing has changed.' }),
      ...((cancels || reason !== '') && problemsOfReason(reason)),
    };
    if (hasProblems(problems)) return choicesPage(visit, closure, problems);
    return { go: `${CLOSURES}/${closure.closureId}`, flash: await carryOut(visit, chosen, reason) };
  });

  /** Cancels and proposes, each booking on its own. */
  async function carryOut(visit: CommunityVisit, chosen: readonly Choice[], reason: string) {
    const { account: by, context } = visit;
    const byId = new Map(chosen.map((choice) => [choice.bookingId, choice]));
    const bookings = await queries.requests.some(by, [...byId.keys()]);
    const choiceOf = ({ bookingId }: BookingDocument) => byId.get(bookingId);
    const isCancelled = (booking: BookingDocument) => choiceOf(booking)?.what === 'cancel';
    const undecided = (booking: BookingDocument) =>
      choiceOf(booking)?.status === 'Pending' ? ('requested' as const) : ('approved' as const);
    const cancelled = await decideEach(queries, visit, bookings.filter(isCancelled), {
      verb: 'cancelled',
      decide(booking) {
        const expected = choiceOf(booking)?.status ?? 'Approved';
        return commands.bookings.cancel({ bookingId: booking.bookingId, by, expected, reason }, context);
      },
      undecided,
    });
    const moving = bookings.filter((booking) => !isCancelled(booking));
    const proposed = await decideEach(queries, visit, moving, {
      verb: 'proposed',
      decide(booking) {
        const to = defined({ date: dateOf(choiceOf(booking)) });
        const why = defined({ reason: reason || undefined });
        return commands.moves.move({ bookingId: booking.bookingId, by, to, ...why }, context);
      },
      undecided,
    });
    const messages = [
      ...(cancelled.length > 0 ? [messageOf(cancelled, visit, 'cancelled', HALF_A_MESSAGE)] : []),
      ...(proposed.length > 0 ? [messageOf(proposed, visit, 'proposed', HALF_A_MESSAGE)] : []),
    ].map(({ flash }) => flash);
    const isDone = messages.length > 0 && messages.every(({ kind }) => kind === 'done');
    const text = messages.map((message) => message.text).join('\n') || 'The bookings are not to this account.';
    return { kind: isDone ? ('done' as const) : ('problem' as const), text };
  }

  async function choicesPage(visit: CommunityVisit, closure: ReadableClosure, problems: Problems): Promise<Answer> {
    const path = `${CLOSURES}/${closure.closureId}`;
    if (closure.kind !== 'Closure' || closure.endedAt !== undefined) return { go: path };
    const { first, count } = await queries.calendar.inside(closure, MOST_CHOICES);
    if (count === 0) return { go: path };
    const offered = await Promise.all(first.map((booking) => freeDays(visit, booking)));
    const rows = first.map((booking, index) => choiceView(visit, booking, offered[index] ?? []));
    const hint = 'Every brand will see it. Needed to cancel.';
    return {
      title: 'Bookings inside it',
      lead: html`${named(titleOf(closure))}: leave, cancel, or propose to move each of them.`,
      back: { href: path, label: titleOf(closure) },
      problems,
      main: postForm(visit, choicesPath(closure), 'card fields narrow')`${rows}
${count > first.length && html`<p>And ${counted(count - first.length, 'booking')} more, once these are cancelled or moved.</p>`}
${reasonField(visit, { label: 'Reason', hint, required: false, problems })}
<p class="small">A booking keeps its hours until its brand accepts the move, and its price. One of a customer that you look after moves
at once. Cancelling is final, and what was paid is refunded.</p>
<div class="row"><button class="button danger">Carry out</button>${buttonLink(path, 'Leave all of them', 'quiet')}</div>`,
    } satisfies PageContent;
  }

  /** The next days on which the space of a booking is free at its hour. */
  async function freeDays({ account, now }: CommunityVisit, booking: BookingDocument): Promise<readonly PlainDate[]> {
    const { spaceId, date, startHour, timeZone } = booking;
    const today = localDate(now, timeZone);
    const from = daysLater(date < today ? today : date, 1);
    const wanted = { account, spaceIds: [spaceId], startHour, from, to: daysLater(from, LOOK_AHEAD), limit: OFFERED };
    const open = await queries.openDays(wanted);
    return isRefusal(open) ? [] : open.days.map((day) => day.date);
  }
}

const dateOf = (choice: Choice | undefined): PlainDate | undefined =>
  choice === undefined || choice.what === 'leave' || choice.what === 'cancel' ? undefined : choice.what;

/** The field of the choice for a booking. */
const choiceOfField = (bookingId: number): string => `choice-${bookingId}`;

/** What is chosen for the bookings that the form lists, each as `17 Approved`. */
const choicesIn = ({ form }: CommunityVisit): readonly Choice[] =>
  form
    .all('listed')
    .slice(0, MOST_CHOICES)
    .flatMap((listed) => {
      const [id = '', status] = listed.split(' ');
      const bookingId = idOf(id);
      if (bookingId === undefined || (status !== 'Pending' && status !== 'Approved')) return [];
      const what = form.text(choiceOfField(bookingId));
      return what === 'leave' || what === 'cancel' || isPlainDate(what) ? [{ bookingId, status, what }] : [];
    });

function choiceView({ form, amount }: CommunityVisit, booking: BookingDocument, days: readonly PlainDate[]): Html {
  const { bookingId, date, startHour, freeFrom, brandName, spaceName, totalPrice, currency, move, status } = booking;
  const name = choiceOfField(bookingId);
  const options = [
    { value: 'leave', label: 'Leave it' },
    { value: 'cancel', label: status === 'Pending' ? 'Decline it' : 'Cancel it' },
    ...days.map((day) => ({ value: day, label: `Propose ${shortDate(day)}, ${clock(startHour)}` })),
  ];
  return html`<section class="stack tight"><h2>${shortDate(date)}, ${hours(startHour, freeFrom)}</h2>
<p>${named(brandName)}, ${named(spaceName)}. ${stateOf(booking)}${amount && `, ${amount(totalPrice, currency)}`},
<a href="/console/bookings/${bookingId}">booking #${bookingId}</a>.
${move && html`A move to ${placeText(move.to)} waits for an answer.`}</p>
${hiddenField('listed', `${bookingId} ${status}`)}${select({ name, label: `Booking #${bookingId}`, value: form.text(name), options })}
<p class="small"><a href="/console/bookings/${bookingId}/move">Another day, hour or space for #${bookingId}…</a></p></section>`;
}
