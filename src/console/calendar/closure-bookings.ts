import type { BookingDocument } from '../../../projections/bookings.ts';
import type { ReadableClosure } from '../../../projections/closures.ts';
import { isRefusal } from '../../domain/decision.ts';
import { REASON, wrongText } from '../../domain/limits.ts';
import { amount, counted, hours, shortDate, shortened } from '../../html/formats.ts';
import { type Html, html, namedText } from '../../html/html.ts';
import { type Answer, nothingToDo } from '../parts/answer.ts';
import { bookingTable, stateOf } from '../parts/booking-views.ts';
import { choices, hiddenField, onceField, postForm, problemOf } from '../parts/forms.ts';
import { BRANDS } from '../parts/other-party.ts';
import type { PageDeps } from '../parts/routes.ts';
import { type Form, idOf, type Problems } from '../parts/typed-form.ts';
import { type CommunityVisit, may } from '../parts/visit.ts';
import { decideEach, MAX_AT_ONCE, messageOf } from '../requests/bulk-outcomes.ts';
import { reasonField } from '../requests/decision-forms.ts';

/** The bookings that a closed time or an own event is about, and how many there are. */
export type Concerned = { readonly first: readonly BookingDocument[]; readonly count: number };

/** How many of them its page lists. It counts the others. */
export const MOST_BOOKINGS = MAX_AT_ONCE;

/** The bookings that are to be cancelled, in the state in which the page showed them. */
type Ticked = ReadonlyMap<number, 'Pending' | 'Approved'>;

/** The bookings inside a closed time, or in the way of an own event. Those who may cancel can tick them. */
export function bookingsSection(
  visit: CommunityVisit,
  closure: ReadableClosure,
  { first, count }: Concerned,
  problems: Problems,
): Html | undefined {
  if (count === 0) return undefined;
  const title = closure.kind === 'Closure' ? 'Bookings inside it' : 'Bookings in its way';
  const lead =
    closure.kind === 'Closure'
      ? 'They stay, until you decline or cancel them.'
      : 'On the days left out. They stay, until you decline or cancel them.';
  const more = count - first.length;
  return html`<section class="stack tight full" id="bookings"><h2>${title}</h2><p>${lead}</p>
${may(visit, 'Coordinator') ? cancelForm(visit, closure, first, problems) : bookingTable(first, BRANDS, title)}${
  more > 0 && html`<p>And ${more.toLocaleString('en')} more.</p>`
}</section>`;
}

function cancelForm(
  visit: CommunityVisit,
  closure: ReadableClosure,
  bookings: readonly BookingDocument[],
  problems: Problems,
): Html {
  const ticked = tickedIn(visit.form);
  const list = bookings.map((booking) => ({
    value: tickOf(booking),
    label: labelOf(booking),
    hint: html`${stateOf(booking)}, ${amount(booking.totalPrice, booking.currency)},
<a href="/console/bookings/${booking.bookingId}">booking #${booking.bookingId}</a>`,
    checked: ticked.has(booking.bookingId),
  }));
  const reason = reasonField(visit, { label: 'Reason', hint: 'Every brand will see it.', required: true, problems });
  const all = html`<label class="choice"><input type="checkbox" name="all" value="yes" data-ticks="booking">
<span class="what">All ${bookings.length}</span></label>`;
  const content = html`${onceField()}${bookings.map((booking) => hiddenField('listed', tickOf(booking)))}
${bookings.length > 1 && all}${choices({ name: 'booking', label: 'To cancel', problems }, 'checkbox', list)}
${reason}<p class="hint">It is final. What was paid is refunded.${
    entersAgain(closure) && ' The event is then entered on the days that are free.'
  }</p><div><button class="button danger">${buttonOf(closure)}</button></div>`;
  return postForm(
    visit,
    `/console/calendar/closures/${closure.closureId}/cancel`,
    'card fields full cancel-form',
    content,
  );
}

const buttonOf = (closure: ReadableClosure): string =>
  entersAgain(closure) ? 'Cancel and enter the event' : 'Cancel the chosen bookings';

/** Whether its days are taken once they are free. What a change has left as it was is to be changed again. */
const entersAgain = ({ kind, replaces, endedAt }: ReadableClosure): boolean =>
  kind === 'OwnEvent' && replaces === undefined && endedAt === undefined;

const tickOf = ({ bookingId, status }: BookingDocument): string => `${bookingId} ${status}`;

const labelOf = ({ date, startHour, freeFrom, brandName, spaceName }: BookingDocument): string =>
  [
    shortDate(date),
    hours(startHour, freeFrom),
    ...[brandName, spaceName].map((name) => namedText(shortened(name))),
  ].join(', ');

function tickedIn(form: Form): Ticked {
  const values = form.text('all') === '' ? form.all('booking') : form.all('listed');
  return new Map(
    values.flatMap((value) => {
      const [id, status] = value.split(' ');
      const bookingId = idOf(id);
      return bookingId === undefined || (status !== 'Pending' && status !== 'Approved') ? [] : [[bookingId, status]];
    }),
  );
}

/** What keeps the ticked bookings from being cancelled; empty if nothing does. */
export function problemsOfCancelling({ form }: CommunityVisit): Problems {
  const { size } = tickedIn(form);
  const reason = form.lines('reason');
  const wrong = wrongText('reason', reason, REASON);
  return {
    ...(size === 0 && { booking: 'Tick the bookings to cancel.' }),
    ...(size > MAX_AT_ONCE && { booking: `Tick at most ${MAX_AT_ONCE}.` }),
    ...(wrong !== undefined && problemOf(wrong, { reason: 'Reason' })),
    ...(reason === '' && { reason: 'Give a reason. The brands will see it.' }),
  };
}

/** Cancels the ticked bookings, each on its own, and enters an own event on the days that are free then. */
export async function cancelTicked(
  { commands, queries }: Pick<PageDeps, 'commands' | 'queries'>,
  visit: CommunityVisit,
  closure: ReadableClosure,
): Promise<Answer> {
  const { account, form, context } = visit;
  const ticked = tickedIn(form);
  const reason = form.lines('reason');
  const go = `/console/calendar/closures/${closure.closureId}`;
  const selected = await queries.requests.some(account, [...ticked.keys()]);
  if (selected.length === 0) return nothingToDo(go, 'Nothing was cancelled: the bookings are not to this account.');
  const outcomes = await decideEach(queries, visit, selected, {
    verb: 'cancelled',
    decide: ({ bookingId }) =>
      commands.bookings.cancel(
        { bookingId, by: account, expected: ticked.get(bookingId) ?? 'Approved', reason },
        context,
      ),
    undecided: ({ bookingId }) => (ticked.get(bookingId) === 'Pending' ? 'requested' : 'approved'),
  });
  const { flash } = messageOf(outcomes, account, 'cancelled');
  const freed = outcomes.flatMap(({ request, refused }) => (refused === undefined ? [request] : []));
  if (!entersAgain(closure) || freed.length === 0) return { go, flash };
  const name = { closureId: closure.closureId, communityId: account.id };
  const entered = await commands.closures.enterAgain({ ...name, days: freed }, context);
  const text = isRefusal(entered) ? entered.details : enteredText(entered.days);
  return { go, flash: { ...flash, text: `${flash.text}\n${text}` } };
}

const enteredText = (days: number): string =>
  days === 0 ? 'Their days are not free yet.' : `The own event is entered on ${counted(days, 'day')} more.`;
