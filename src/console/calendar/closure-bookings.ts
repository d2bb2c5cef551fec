import type { BookingDocument } from '../../../projections/bookings.ts';
import type { ReadableClosure } from '../../../projections/closures.ts';
import { isRefusal } from '../../domain/decision.ts';
import { counted, hours, shortDate, shortened } from '../../html/formats.ts';
import { type Html, html, namedText } from '../../html/html.ts';
import type { Flash } from '../../html/layout.ts';
import type { Answer } from '../parts/answer.ts';
import { bookingTable, stateOf } from '../parts/booking-views.ts';
import { choices, hasProblems, hiddenField, onceField, postForm } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { BRANDS } from '../parts/other-party.ts';
import type { PageDeps } from '../parts/routes.ts';
import { type Form, idOf, type Problems } from '../parts/typed-form.ts';
import { type CommunityVisit, may } from '../parts/visit.ts';
import { type BulkOutcome, decidedIn, decideEach, MAX_BULK_BOOKINGS, messageOf } from '../requests/bulk-outcomes.ts';
import { problemsOfReason, reasonField } from '../requests/decision-forms.ts';
import { canMove } from '../requests/move-views.ts';

/** The bookings that a closed time or an own event is about, and how many there are. */
export type Concerned = { readonly first: readonly BookingDocument[]; readonly count: number };

/** How many of them its page lists: rows of a table, or boxes for those who may cancel. It counts the others. */
export const mostBookings = (visit: CommunityVisit): number => (may(visit, 'Coordinator') ? MAX_BULK_BOOKINGS : 50);

/** The page on which each booking inside a closed time, or in the way of an own event, is left, cancelled, or proposed to move. */
export const choicesPath = ({ closureId }: Pick<ReadableClosure, 'closureId'>): string =>
  `/console/calendar/closures/${closureId}/bookings`;

export const concernedTitle = ({ kind }: Pick<ReadableClosure, 'kind'>): string =>
  kind === 'Closure' ? 'Bookings inside it' : 'Bookings in its way';

/** Bookings that a form names, in the state in which the page showed them. */
export type Ticked = ReadonlyMap<number, 'Pending' | 'Approved'>;

/** The bookings inside a closed time, or in the way of an own event. Those who may cancel can tick them. */
export function bookingsSection(
  visit: CommunityVisit,
  closure: ReadableClosure,
  { first, count }: Concerned,
  problems: Problems,
): Html | undefined {
  if (count === 0) return undefined;
  const title = concernedTitle(closure);
  const lead =
    closure.kind === 'Closure'
      ? 'They stay, until you decline or cancel them.'
      : 'On the days left out. They stay, until you decline or cancel them.';
  const more = count - first.length;
  const choose =
    may(visit, 'Coordinator') &&
    first.some((booking) => canMove(visit, booking)) &&
    html`<p>${buttonLink(choicesPath(closure), 'Leave, cancel or move each…', 'quiet')}</p>`;
  return html`<section class="stack tight full" id="bookings"><h2>${title}</h2><p>${lead}</p>${choose}
${may(visit, 'Coordinator') ? cancelForm(visit, closure, first, problems) : bookingTable(visit, first, BRANDS, title)}${
  more > 0 && html`<p>And ${more.toLocaleString('en')} more.</p>`
}</section>`;
}

function cancelForm(
  visit: CommunityVisit,
  closure: ReadableClosure,
  bookings: readonly BookingDocument[],
  problems: Problems,
): Html {
  const note =
    entersAgain(closure) &&
    'The event is then entered on their days. If these would still not be free, nothing is cancelled.';
  const content = html`${onceField()}${cancelFields(visit, bookings, problems, { isRequired: true })}
${note && html`<p>${note}</p>`}<div><button class="button danger">${buttonOf(closure)}</button></div>`;
  const action = `/console/calendar/closures/${closure.closureId}/cancel`;
  return postForm(visit, action, 'card fields full cancel-form')`${content}`;
}

/** The boxes of bookings, one that ticks all of them, and the reason. */
function cancelFields(
  visit: CommunityVisit,
  bookings: readonly BookingDocument[],
  problems: Problems,
  { isRequired }: { readonly isRequired: boolean },
): Html {
  const { amount } = visit;
  const ticked = tickedIn(visit.form);
  const list = bookings.map((booking) => ({
    value: tickOf(booking),
    label: labelOf(booking),
    hint: html`${stateOf(booking)}, ${amount && html`${amount(booking.totalPrice, booking.currency)},`}
<a href="/console/bookings/${booking.bookingId}">booking #${booking.bookingId}</a>`,
    checked: ticked.has(booking.bookingId),
  }));
  const hint = 'Every brand will see it. Cancelling is final, and what was paid is refunded.';
  const reason = reasonField(visit, { label: 'Reason', hint, required: isRequired, problems });
  const all = html`<label class="choice"><input type="checkbox" name="all" value="yes" data-ticks="booking">
<span class="what">All ${bookings.length}</span></label>`;
  return html`${bookings.map((booking) => hiddenField('listed', tickOf(booking)))}
${bookings.length > 1 && all}${choices({ name: 'booking', label: 'To cancel', problems }, 'checkbox', list)}${reason}`;
}

/** The same within the form of an own event that they are in the way of. */
export const inTheWayFields = (visit: CommunityVisit, { first, count }: Concerned, problems: Problems): Html =>
  html`<h2>Bookings in its way</h2>${cancelFields(visit, first, problems, { isRequired: false })}${
    count > first.length && html`<p>And ${(count - first.length).toLocaleString('en')} more.</p>`
  }
<div><button class="button danger" name="cancels" value="yes">Cancel and add the event</button></div>`;

const buttonOf = (closure: ReadableClosure): string =>
  entersAgain(closure) ? 'Cancel and enter the event' : 'Cancel the chosen bookings';

/** Whether its days are taken once they are free. What a change has left as it was is to be changed again. */
export const entersAgain = ({ kind, replaces, endedAt }: ReadableClosure): boolean =>
  kind === 'OwnEvent' && replaces === undefined && endedAt === undefined;

/** A booking with the state in which a page shows it, as one value of a form: `17 Approved`. */
export const tickOf = ({ bookingId, status }: BookingDocument): string => `${bookingId} ${status}`;

const labelOf = ({ date, startHour, freeFrom, brandName, spaceName }: BookingDocument): string =>
  [
    shortDate(date),
    hours(startHour, freeFrom),
    ...[brandName, spaceName].map((name) => namedText(shortened(name))),
  ].join(', ');

/** The bookings that are to be cancelled. */
const tickedIn = (form: Form): Ticked => readTicks(form.text('all') === '' ? form.all('booking') : form.all('listed'));

export const readTicks = (values: readonly string[]): Ticked =>
  new Map(
    values.flatMap((value) => {
      const [id, status] = value.split(' ');
      const bookingId = idOf(id);
      return bookingId === undefined || (status !== 'Pending' && status !== 'Approved') ? [] : [[bookingId, status]];
    }),
  );

/**
 * What keeps the ticked bookings from being cancelled; empty if nothing does.
 * @param hours of an own event that is to be entered on their days: nothing is cancelled unless it can be on each of them
 */
export async function problemsOfCancelling(
  { commands, queries }: Pick<PageDeps, 'commands' | 'queries'>,
  { account, form }: CommunityVisit,
  hours: Pick<ReadableClosure, 'start' | 'until'> | undefined,
): Promise<Problems> {
  const ticked = tickedIn(form);
  const problems: Problems = {
    ...(ticked.size === 0 && { booking: 'Tick the bookings to cancel.' }),
    ...(ticked.size > MAX_BULK_BOOKINGS && { booking: `Tick at most ${MAX_BULK_BOOKINGS}.` }),
    ...problemsOfReason(form.lines('reason')),
  };
  if (hasProblems(problems) || hours === undefined) return problems;
  const selected = await queries.requests.some(account, [...ticked.keys()]);
  const refusal = await commands.closures.whyStillTaken(hours, selected);
  return refusal === undefined
    ? {}
    : { booking: `Nothing was cancelled, as it would not be enough: ${refusal.details}` };
}

/** Cancels the ticked bookings, each on its own. @returns what to say, and those that are cancelled */
export async function cancelTicked(
  deps: Pick<PageDeps, 'commands' | 'queries'>,
  visit: CommunityVisit,
): Promise<{ readonly flash: Flash; readonly freed: readonly BookingDocument[] }> {
  const ticked = tickedIn(visit.form);
  const selected = await deps.queries.requests.some(visit.account, [...ticked.keys()]);
  if (selected.length === 0) return { flash: NOT_YOURS, freed: [] };
  const outcomes = await cancelEach(deps, visit, selected, ticked);
  return { flash: messageOf(outcomes, visit, 'cancelled').flash, freed: decidedIn(outcomes) };
}

/** Cancels each of some bookings, for the reason in the form, unless it has left the state in which the page showed it. */
export function cancelEach(
  { commands, queries }: Pick<PageDeps, 'commands' | 'queries'>,
  visit: CommunityVisit,
  selected: readonly BookingDocument[],
  ticked: Ticked,
): Promise<readonly BulkOutcome[]> {
  const { account: by, form, context } = visit;
  const reason = form.lines('reason');
  return decideEach(queries, visit, selected, {
    verb: 'cancelled',
    decide({ bookingId }) {
      const expected = ticked.get(bookingId) ?? 'Approved';
      return commands.bookings.cancel({ bookingId, by, expected, reason }, context);
    },
    undecided: undecidedIn(ticked),
  });
}

/** The last step of a booking that is still in the state in which the page showed it. */
export const undecidedIn =
  (ticked: Ticked) =>
  ({ bookingId }: BookingDocument): 'requested' | 'approved' =>
    ticked.get(bookingId) === 'Pending' ? 'requested' : 'approved';

const NOT_YOURS: Flash = { kind: 'notice', text: 'Nothing was cancelled: the bookings are not to this account.' };

/** Cancels the ticked bookings, and enters an own event on the days that are free then. */
export async function cancelAndEnter(
  deps: Pick<PageDeps, 'commands' | 'queries'>,
  visit: CommunityVisit,
  closure: ReadableClosure,
): Promise<Answer> {
  const { flash, freed } = await cancelTicked(deps, visit);
  return {
    go: `/console/calendar/closures/${closure.closureId}`,
    flash: await enterOn(deps, visit, closure, flash, freed),
  };
}

/**
 * Enters an own event on the days of bookings that have left them. Nothing for a closed time, and for what has ended or was changed.
 * @param flash what happened to the bookings
 * @returns the same, and on how many days it is entered
 */
export async function enterOn(
  { commands }: Pick<PageDeps, 'commands'>,
  { account, context }: CommunityVisit,
  closure: ReadableClosure,
  flash: Flash,
  freed: readonly BookingDocument[],
): Promise<Flash> {
  if (!entersAgain(closure) || freed.length === 0) return flash;
  const wanted = { closureId: closure.closureId, communityId: account.id, days: freed };
  const entered = await commands.closures.enterAgain(wanted, context);
  const text = isRefusal(entered) ? entered.details : enteredText(entered.days);
  return { ...flash, text: `${flash.text}\n${text}` };
}

const enteredText = (days: number): string =>
  days === 0 ? 'Their days are not free yet.' : `The own event is entered on ${counted(days, 'day')} more.`;
