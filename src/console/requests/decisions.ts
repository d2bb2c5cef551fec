import type { BookingDocument, ReadableBooking } from '../../../projections/bookings.ts';
import { cancellableUntil, expiryOf, startOf } from '../../domain/booking-moments.ts';
import { isRefusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { AMOUNT_RULE, parseAmount } from '../../domain/pricing.ts';
import { isOpen } from '../../domain/space-day.ts';
import { hours, longDate, momentIn, zoneName } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import type { Flash } from '../../html/layout.ts';
import { type Answer, forbidden, type PageContent } from '../parts/answer.ts';
import { listToReturnTo, sourceFields, withVia } from '../parts/back-link.ts';
import { briefly } from '../parts/booking-views.ts';
import { hiddenField, postForm, problemOf } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { bookingRoutes, type ConsoleRoutes, type PageDeps } from '../parts/routes.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { AmountFormat, Visit } from '../parts/visit.ts';
import { listField, listFieldsOf, NEEDS_AMOUNTS, needsConfirmation, reasonField } from './decision-forms.ts';
import { firstOf, following } from './inbox-reads.ts';
import { inboxPath, listIn, listOfForm, type RequestList } from './request-list.ts';
import { lastStepOf, sentenceOf } from './what-happened.ts';

/** Where a form of a booking leads: to its page, or to the list that the form is on. */
export const pathOf = (visit: Pick<Visit, 'via' | 'form'>, { bookingId }: Pick<BookingDocument, 'bookingId'>): string =>
  listToReturnTo(visit) ?? withVia(visit, `/console/bookings/${bookingId}`);

/** Answering one request, and cancelling a booking (docs/decisions/console.md). */
export function decisionPages(routes: ConsoleRoutes, { commands, queries }: PageDeps): void {
  const ofAny = bookingRoutes(routes, queries);

  bookingRoutes(routes.community, queries).post(
    '/console/bookings/:id/approve',
    'Coordinator',
    async (visit, booking) => {
      const { amount, form } = visit;
      const typed = form.text('eventFee');
      if (amount === undefined && typed !== '') return forbidden('amounts');
      if (booking.status === 'Pending' && needsConfirmation(visit, booking)) {
        if (amount === undefined) return backToSource(visit, booking, { kind: 'problem', text: NEEDS_AMOUNTS });
        if (form.text('confirmed') !== String(booking.totalPrice)) return confirmApproval(visit, amount, booking);
      }
      const eventFee = typed === '' ? undefined : parseAmount(typed);
      if (typed !== '' && eventFee === undefined)
        return backToSource(visit, booking, { kind: 'problem', text: `The price ${AMOUNT_RULE}. You typed: ${typed}` });
      const command = { bookingId: booking.bookingId, communityId: visit.account.id, ...defined({ eventFee }) };
      const outcome = await commands.bookings.approve(command, visit.context);
      if (isRefusal(outcome)) {
        const { field, details } = outcome;
        return field === 'eventFee'
          ? backToSource(visit, booking, { kind: 'problem', text: `The price ${LOWER_RULE}. You typed: ${typed}` })
          : backToSource(visit, booking, await tooLate(visit, booking, 'approved', details));
      }
      const [event] = outcome.events;
      const charge = event?.type === 'BookingApproved' ? event.data.charge : booking.totalPrice;
      const charged = amount === undefined ? '' : ` ${amount(charge, booking.currency)} was charged.`;
      const text = `Request approved: ${briefly(booking, visit.account)}.${charged}`;
      return backToSource(visit, booking, { kind: 'done', text });
    },
  );

  // A user who signs in again on the page that asked for confirmation arrives here.
  ofAny.get('/console/bookings/:id/approve', 'Viewer', async (visit, booking) => ({ go: pathOf(visit, booking) }));

  for (const step of ['decline', 'cancel'] as const) {
    ofAny.get(`/console/bookings/:id/${step}`, 'Coordinator', async (visit, booking) =>
      canEnd(visit, booking) ? endPage(visit, booking) : { go: pathOf(visit, booking) },
    );
    ofAny.post(`/console/bookings/:id/${step}`, 'Coordinator', (visit, booking) => end(visit, booking, step));
  }

  /** Declines or withdraws a request, or cancels a booking. */
  async function end(visit: Visit, booking: ReadableBooking, step: 'decline' | 'cancel'): Promise<Answer> {
    const { account, form, context } = visit;
    const { bookingId, status } = booking;
    const reason = form.lines('reason');
    // The page was made for a request or for a booking. Cancelling a request that was approved since is another decision.
    const expected = step === 'decline' || form.text('was') === 'Pending' ? 'Pending' : 'Approved';
    if (account.kind === 'Community' && reason === '' && status === expected)
      return endPage(visit, booking, { reason: 'Give a reason. The brand will see it.' });
    const command = { bookingId, by: account, expected, ...defined({ reason: reason || undefined }) } as const;
    const outcome = await commands.bookings.cancel(command, context);
    const verb = expected === 'Approved' ? 'cancelled' : account.kind === 'Community' ? 'declined' : 'withdrawn';
    if (!isRefusal(outcome)) {
      const text =
        expected === 'Approved'
          ? `Booking cancelled. ${refunded(booking, visit, 'was')}`
          : `Request ${verb}: ${briefly(booking, account)}.`;
      return backToSource(visit, booking, { kind: 'done', text });
    }
    return outcome.refused === 'ValidationError'
      ? endPage(visit, booking, problemOf(outcome, { reason: 'Reason' }))
      : backToSource(visit, booking, await tooLate(visit, booking, verb, outcome.details, reason));
  }

  /** Back to the page that the form was sent from: the booking, or the list, at its next request. */
  async function backToSource(visit: Visit, booking: BookingDocument, flash: Flash): Promise<Answer> {
    const list = listOfForm(visit);
    if (list === undefined) return { go: pathOf(visit, booking), flash };
    const next = await nextRequestPath(queries, visit, list, booking);
    // Without the row, to which the page would scroll: the message that explains the problem is at the top.
    return { go: flash.kind === 'done' ? next : (next.split('#', 1)[0] ?? next), flash };
  }

  /** Explains why a decision had no effect: it was repeated, or came too late. Repeats what was typed with it. */
  async function tooLate(
    visit: Visit,
    booking: ReadableBooking,
    wanted: 'approved' | 'declined' | 'withdrawn' | 'cancelled',
    details: string,
    typed = '',
  ): Promise<Flash> {
    const last = await lastStepOf(queries, visit, booking);
    const youTyped = typed === '' ? '' : `\nYou typed: ${typed}`;
    const what = briefly(booking, visit.account);
    if (last?.verb === wanted)
      return { kind: 'notice', text: `${what}: ${sentenceOf(last, 'already')} Nothing has changed.${youTyped}` };
    const over = visit.account.kind === 'Brand' ? deadlineOver(visit, booking) : undefined;
    const why =
      over ??
      (last === undefined || last.verb === 'requested' ? stillPending(visit, booking, details) : sentenceOf(last));
    return { kind: 'problem', text: `${what}: ${why} Nothing was ${wanted}.${youTyped}` };
  }
}

const LOWER_RULE = 'must not be higher than at the request';

/** Why a request that is still pending could not be answered. */
function stillPending({ now }: Pick<Visit, 'now'>, request: ReadableBooking, details: string): string {
  const expiry = expiryOf(request);
  if (expiry > now) return details;
  const { timeZone } = request;
  return `The time to answer was over on ${momentIn(timeZone, expiry)} ${zoneName(timeZone)}. The request is being cancelled.`;
}

/** Whether to offer cancellation. The decider checks again. */
export const canEnd = ({ account, now }: Pick<Visit, 'account' | 'now'>, booking: BookingDocument): boolean =>
  isOpen(booking) && (account.kind === 'Brand' ? cancellableUntil(booking) : startOf(booking)) > now;

/** Why a brand cannot cancel a booking any more before it starts; undefined if it can. */
export function deadlineOver({ now }: Pick<Visit, 'now'>, booking: BookingDocument): string | undefined {
  const deadline = cancellableUntil(booking);
  if (!isOpen(booking) || deadline > now || startOf(booking) <= now) return undefined;
  const { timeZone } = booking;
  const until = `${momentIn(timeZone, deadline)} ${zoneName(timeZone)}`;
  return `You could cancel it until ${until}. The community still can: ask it.`;
}

/** Asks for confirmation before declining or withdrawing a request or cancelling a booking, and says what is refunded. */
function endPage(visit: Visit, booking: ReadableBooking, problems: Problems = {}): PageContent {
  const { account, form } = visit;
  const { bookingId, status, brandName, spaceName } = booking;
  const isCommunity = account.kind === 'Community';
  const isPending = status === 'Pending';
  const verb = isPending ? (isCommunity ? 'Decline' : 'Withdraw') : 'Cancel';
  const what = isPending ? 'request' : 'booking';
  const step = isCommunity && isPending ? 'decline' : 'cancel';
  const back = { href: pathOf(visit, booking), label: `Booking #${bookingId}` };
  const [label, hint] = isCommunity
    ? ['Reason', 'The brand will see it.']
    : ['Reason (optional)', 'The community will see it.'];
  const reason = reasonField(visit, { label, hint, required: isCommunity, problems });
  const content = html`${listField(listIn(form))}${sourceFields(visit)}${hiddenField('was', status)}
${summaryOf(booking, isCommunity ? brandName : spaceName)}
<p>${status === 'Approved' && `${refunded(booking, visit, 'will be')} `}The time becomes available to others again.
This cannot be undone.</p>
${reason}
<div class="row"><button class="button danger">${verb} ${what}</button>${buttonLink(back.href, `Keep ${what}`, 'quiet')}</div>`;
  return {
    title: `${verb} this ${what}`,
    heading: `${verb} this ${what}?`,
    back,
    problems,
    main: postForm(visit, `/console/bookings/${bookingId}/${step}`, 'card fields narrow')`${content}`,
  };
}

/** Asks for confirmation before approving a request whose total is above the amount of the setting. */
function confirmApproval(
  visit: Pick<Visit, 'csrf' | 'form' | 'via' | 'settings'>,
  amount: AmountFormat,
  request: BookingDocument,
): PageContent {
  const { bookingId, totalPrice, currency } = request;
  const price = amount(totalPrice, currency);
  const path = `/console/bookings/${bookingId}`;
  const back = { href: pathOf(visit, request), label: `Booking #${bookingId}` };
  const content = html`${listFieldsOf(visit.form)}${sourceFields(visit)}${hiddenField('confirmed', totalPrice)}
${summaryOf(request, request.brandName, request.spaceName)}
<p>This is above ${amount(visit.settings.approveConfirmAbove ?? 0, currency)}, so the approval must be confirmed. ${price}
will be charged to the brand.</p>
<div class="row"><button class="button">Approve for ${price}</button>${buttonLink(back.href, 'Do not approve yet', 'quiet')}</div>`;
  return {
    title: 'Approve this request',
    heading: `Approve this request for ${price}?`,
    back,
    main: postForm(visit, `${path}/approve`, 'card fields narrow')`${content}`,
  };
}

/** Names the booking that a question is about. */
const summaryOf = (booking: BookingDocument, ...names: readonly string[]): Html =>
  html`<p>${names.map((name) => html`${named(name)}, `)}${longDate(booking.date)},
${hours(booking.startHour, booking.freeFrom)} <span class="muted nowrap">${zoneName(booking.timeZone)}</span>.</p>`;

const refunded = (
  { totalPrice, currency }: Pick<BookingDocument, 'totalPrice' | 'currency'>,
  { account, amount }: Pick<Visit, 'account' | 'amount'>,
  verb: 'was' | 'will be',
): string =>
  `${amount?.(totalPrice, currency) ?? 'What was charged'} ${verb} refunded to ${account.kind === 'Brand' ? 'you' : 'the brand'}.`;

/** The page of the list to show after a request was answered: at the next request. */
async function nextRequestPath(
  queries: PageDeps['queries'],
  { account, form }: Visit,
  list: RequestList,
  answered: BookingDocument,
): Promise<string> {
  // An open page finds the next request itself.
  if (list.shown.length > 0 || account.kind !== 'Community') return inboxPath(list, list);
  // The request that follows the answered one moves up to the same page. After the last one, the list begins again.
  const later = await following(queries, account, list, answered);
  const page = later === undefined ? { ...list, after: undefined } : list;
  const next = later ?? (await firstOf(queries, account, list));
  if (next === undefined) return inboxPath(page);
  // Keeps the selection.
  const picked = form.all('id').filter((id) => id !== String(answered.bookingId));
  return `${inboxPath(page, { picked })}#request-${next.bookingId}`;
}
