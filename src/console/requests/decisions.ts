import type { BookingDocument, ReadableBooking } from '../../../projections/bookings.ts';
import { expiryOf, startOf } from '../../domain/booking-moments.ts';
import { isRefusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { REASON } from '../../domain/limits.ts';
import { html } from '../../html/html.ts';
import { type Flash, icon } from '../../html/layout.ts';
import { named } from '../../html/names.ts';
import { addressed } from '../parts/addressed.ts';
import { csrfField, formProblem, NO_PROBLEMS, type Problems, problemOf, statusOf, textArea } from '../parts/fields.ts';
import { amount, hours, longDate, momentIn, zoneName } from '../parts/formats.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import { type Answer, missing, type Routes, type Visit } from '../parts/visit.ts';
import { askOnceMore, briefly, onwards, refunded } from './after-decision.ts';
import { isAbove, listField } from './decision-forms.ts';
import { listOfForm } from './request-list.ts';
import { lastStepOf, sentenceOf } from './what-happened.ts';

/** Answering one request, and cancelling a booking (docs/decisions/console.md). */
export function decisionPages(routes: Routes, deps: PageDeps): void {
  const { commands, queries, settings } = deps;
  const { withBooking } = addressed(queries);

  routes.post(
    '/console/bookings/:id/approve',
    (visit) =>
      withBooking(visit, async (booking) => {
        if (visit.account.kind !== 'Community') return missing('booking');
        const isConfirmed = visit.form.text('confirmed') === String(booking.totalPrice);
        if (booking.status === 'Pending' && isAbove(settings, booking) && !isConfirmed)
          return askOnceMore(visit, booking, settings);
        const command = { bookingId: booking.bookingId, communityId: visit.account.id };
        const outcome = await commands.bookings.approve(command, visit.context);
        if (isRefusal(outcome)) return goOn(visit, booking, await tooLate(visit, booking, 'approved', outcome.details));
        const charged = amount(booking.totalPrice, booking.currency);
        const text = `Request approved: ${briefly(booking, visit.account)}. ${charged} was charged.`;
        return goOn(visit, booking, { kind: 'done', text });
      }),
    'Community',
  );

  // The address of the question that a form gets as its answer, for whoever signs in again there.
  routes.get('/console/bookings/:id/approve', (visit) =>
    withBooking(visit, async ({ bookingId }) => ({ go: `/console/bookings/${bookingId}` })),
  );

  for (const step of ['decline', 'cancel'] as const) {
    routes.get(`/console/bookings/:id/${step}`, (visit) =>
      withBooking(visit, async (booking) => {
        if (!canEnd(booking, visit.now)) return { go: `/console/bookings/${booking.bookingId}` };
        return endPage(visit, booking);
      }),
    );

    routes.post(`/console/bookings/:id/${step}`, (visit) =>
      withBooking(visit, async (booking) => {
        const { account, form } = visit;
        const reason = form.text('reason').replaceAll('\r\n', '\n');
        // The page was made for a request or for a booking. To cancel what has just been approved is another decision.
        const expected = step === 'decline' || form.text('was') === 'Pending' ? 'Pending' : 'Approved';
        if (account.kind === 'Community' && reason === '' && booking.status === expected)
          return endPage(visit, booking, { reason: 'Give a reason. The brand will see it.' });
        const command = {
          bookingId: booking.bookingId,
          by: account,
          expected,
          ...defined({ reason: reason === '' ? undefined : reason }),
        } as const;
        const outcome = await commands.bookings.cancel(command, visit.context);
        const done = expected === 'Approved' ? 'cancelled' : account.kind === 'Community' ? 'declined' : 'withdrawn';
        if (!isRefusal(outcome)) {
          const text =
            expected === 'Approved'
              ? `Booking cancelled. ${refunded(booking, account, 'was')}`
              : `Request ${done}: ${briefly(booking, account)}.`;
          return goOn(visit, booking, { kind: 'done', text });
        }
        if (outcome.refused === 'ValidationError')
          return endPage(visit, booking, problemOf(outcome, { reason: 'Reason' }));
        return goOn(visit, booking, await tooLate(visit, booking, done, outcome.details, reason));
      }),
    );
  }

  /** Back to where the form was sent from: the booking, or the list, which goes on to its next request. */
  const goOn = async (visit: Visit, booking: BookingDocument, flash: Flash): Promise<Answer> => {
    const list = listOfForm(visit.form);
    const go =
      list === undefined ? `/console/bookings/${booking.bookingId}` : await onwards(queries, visit, list, booking);
    return { go, flash };
  };

  /** Explains why a decision had no effect: it was repeated, or came too late. What was typed with it is not lost. */
  async function tooLate(
    visit: Visit,
    booking: ReadableBooking,
    wanted: 'approved' | 'declined' | 'withdrawn' | 'cancelled',
    details: string,
    typed = '',
  ): Promise<Flash> {
    const last = await lastStepOf(queries, visit, booking);
    const kept = typed === '' ? '' : `\nYou had typed: ${typed}`;
    const what = briefly(booking, visit.account);
    if (last?.verb === wanted)
      return { kind: 'notice', text: `${what}: ${sentenceOf(last, 'already')} Nothing has changed.${kept}` };
    const why =
      last === undefined || last.verb === 'requested' ? stillPending(visit, booking, details) : sentenceOf(last);
    return { kind: 'problem', text: `${what}: ${why} Nothing was ${wanted}.${kept}` };
  }
}

/** Why a request that is still pending was not to be answered. */
function stillPending({ now }: Pick<Visit, 'now'>, request: ReadableBooking, details: string): string {
  const expiry = expiryOf(request);
  if (expiry > now) return details;
  const { timeZone } = request;
  return `The time to answer was over on ${momentIn(timeZone, expiry)} ${zoneName(timeZone)}. The request is being cancelled.`;
}

/** Whether to offer cancellation; the decider has the last word. */
export const canEnd = (booking: BookingDocument, now: number): boolean =>
  (booking.status === 'Pending' || booking.status === 'Approved') && startOf(booking) > now;

/** Asks for confirmation before declining or withdrawing a request or cancelling a booking, and says what is refunded. */
async function endPage(visit: Visit, booking: ReadableBooking, problems: Problems = NO_PROBLEMS): Promise<Answer> {
  const { account, form } = visit;
  const isCommunity = account.kind === 'Community';
  const pending = booking.status === 'Pending';
  const word = pending ? (isCommunity ? 'Decline' : 'Withdraw') : 'Cancel';
  const what = pending ? 'request' : 'booking';
  const step = isCommunity && pending ? 'decline' : 'cancel';
  const back = `/console/bookings/${booking.bookingId}`;
  return {
    title: `${word} this ${what}`,
    section: 'bookings',
    status: statusOf(problems),
    main: html`<p class="back"><a href="${back}">${icon('back')} Booking #${booking.bookingId}</a></p>
<form class="card fields narrow" method="post" action="${back}/${step}">${csrfField(visit)}${listField(form.all('list')[0])}<input type="hidden" name="was" value="${booking.status}">
<h1>${word} this ${what}?</h1>
${formProblem(problems)}
<p>${named(isCommunity ? booking.brandName : booking.spaceName)}, ${longDate(booking.date)}, ${hours(booking.startHour, booking.freeFrom)} <span class="muted nowrap">${zoneName(booking.timeZone)}</span>.</p>
<p>${booking.status === 'Approved' ? `${refunded(booking, account, 'will be')} ` : ''}The time becomes available to others again. This cannot be undone.</p>
${textArea({
  name: 'reason',
  label: isCommunity ? 'Reason' : 'Reason (optional)',
  hint: isCommunity ? 'The brand will see it.' : 'The community will see it.',
  value: form.text('reason'),
  required: isCommunity,
  problems,
  attributes: { maxlength: REASON.max, rows: 3 },
})}
<div class="row"><button class="button">${word} ${what}</button><a class="button quiet" href="${back}">Keep ${what}</a></div>
</form>`,
  };
}
