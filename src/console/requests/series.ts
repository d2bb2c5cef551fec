import type { BookingDocument } from '../../../projections/bookings.ts';
import { isLetIn } from '../../domain/admission.ts';
import { expiryOf } from '../../domain/booking-moments.ts';
import { defined } from '../../domain/defined.ts';
import { counted, hours, shortDate } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { type Answer, nothingToDo, type PageContent } from '../parts/answer.ts';
import { viaField, withVia } from '../parts/back-link.ts';
import { stateOf, statusBadge } from '../parts/booking-views.ts';
import { choices, hasProblems, hiddenField, postForm } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { bookingRoutes, type ConsoleRoutes, type PageDeps } from '../parts/routes.ts';
import type { Problems } from '../parts/typed-form.ts';
import { may, type Visit } from '../parts/visit.ts';
import { brandMarks, LET_IN } from './admission-forms.ts';
import { decideEach, messageOf, totalOf } from './bulk-outcomes.ts';
import { listField, mayApprove, problemsOfReason, reasonField } from './decision-forms.ts';
import { pathOf } from './decisions.ts';
import { idsIn, inboxPath, listAt, listIn } from './request-list.ts';
import { dayLinks, daysText, idsOf, seriesPath, withdrawPath } from './series-views.ts';

/** The days of a series: a community decides some of them, and a brand withdraws those that wait (docs/decisions/bookings.md#series). */
export function seriesPages(routes: ConsoleRoutes, { commands, queries }: PageDeps): void {
  const ofCommunity = bookingRoutes(routes.community, queries);
  const ofBrand = bookingRoutes(routes.brand, queries);

  ofCommunity.get('/console/inbox/series/:id', 'Viewer', async (visit, booking) => {
    const days = await queries.requests.series(booking);
    if (days.length === 0) return { go: `/console/bookings/${booking.bookingId}` };
    const [beside, brands] = await Promise.all([
      queries.requests.firstBeside(days),
      queries.admissions.ofBrands(visit.account.id, [booking.brandId]),
    ]);
    const brand = brands.get(booking.brandId) ?? LET_IN;
    const waiting = days.filter(({ status }) => status === 'Pending');
    const list = listIn(visit.query);
    const back = inboxPath(listAt(list, visit));
    return {
      title: 'A series, day by day',
      heading: named(booking.brandName),
      lead: html`${daysText(days)}, ${named(booking.spaceName)}: ${waitText(waiting.length)}`,
      back: { href: back, label: 'Requests' },
      main: html`${brandMarks(brand)}${
        waiting.length > 0 && may(visit, 'Coordinator')
          ? answerForm(visit, {
              days,
              beside,
              list,
              canApprove: isLetIn(brand.standing) && waiting.some(isApprovable(visit)),
            })
          : html`<section class="card">${dayLinks(days, booking.bookingId)}</section>`
      }`,
    };
  });

  ofBrand.get('/console/bookings/:id/withdraw-series', 'Coordinator', async (visit, booking) => {
    const waiting = await waitingOf(booking);
    return waiting.length === 0 ? { go: pathOf(visit, booking) } : withdrawPage(visit, booking, waiting);
  });

  ofBrand.post('/console/bookings/:id/withdraw-series', 'Coordinator', async (visit, booking): Promise<Answer> => {
    const { account: by, form, context } = visit;
    // Only what the page has shown.
    const shown = idsIn(form.text('shown'));
    const waiting = (await waitingOf(booking)).filter(({ bookingId }) => shown.includes(bookingId));
    const go = pathOf(visit, booking);
    if (waiting.length === 0)
      return nothingToDo(go, 'No request of this series waits any more. Nothing was withdrawn.');
    const reason = form.lines('reason');
    const problems = reason === '' ? {} : problemsOfReason(reason);
    if (hasProblems(problems)) return withdrawPage(visit, booking, waiting, problems);
    const outcomes = await decideEach(queries, visit, waiting, {
      verb: 'withdrawn',
      decide: ({ bookingId }) =>
        commands.bookings.cancel(
          { bookingId, by, expected: 'Pending', ...defined({ reason: reason || undefined }) },
          context,
        ),
      undecided: () => 'requested',
    });
    return { go, flash: messageOf(outcomes, visit, 'withdrawn').flash };
  });

  const waitingOf = async (booking: Pick<BookingDocument, 'communityId' | 'brandId' | 'series'>) =>
    (await queries.requests.series(booking)).filter(({ status }) => status === 'Pending');
}

/** How many days wait, in a sentence. */
const waitText = (count: number): string => `${count} of them ${count === 1 ? 'waits' : 'wait'} for an answer.`;

/** Whether a member can approve a request, if its brand is let in. */
const isApprovable =
  (visit: Visit) =>
  (request: BookingDocument): boolean =>
    expiryOf(request) > visit.now && mayApprove(visit, request);

/** The days with what else is on them, those that wait with a box each. */
function answerForm(
  visit: Visit,
  {
    days,
    beside,
    list,
    canApprove,
  }: {
    readonly days: readonly BookingDocument[];
    readonly beside: readonly (BookingDocument | undefined)[];
    readonly list: string | undefined;
    readonly canApprove: boolean;
  },
): Html {
  const { amount } = visit;
  const rows = days.map((day, index) => ({ day, other: beside[index] }));
  const waiting = rows.filter(({ day }) => day.status === 'Pending');
  const options = waiting.map(({ day, other }) => ({
    value: String(day.bookingId),
    label: `${shortDate(day.date)}, ${hours(day.startHour, day.freeFrom)}`,
    hint: html`${amount && `${amount(day.totalPrice, day.currency)}, `}<a href="/console/bookings/${day.bookingId}">request
#${day.bookingId}</a>${
      other &&
      html`<br>That day: ${hours(other.startHour, other.freeFrom)} ${named(other.brandName)} (${stateOf(other).toLowerCase()})`
    }`,
    checked: true,
  }));
  const answered = rows.filter(({ day }) => day.status !== 'Pending');
  const approve = canApprove && html`<button class="button">Approve the ticked days</button>`;
  return html`${postForm(visit, '/console/inbox/approve', 'card fields narrow')`${listField(list ?? '')}
${choices({ name: 'id', label: 'Days that wait', problems: {} }, 'checkbox', options)}
<div class="row">${approve}<button class="button quiet" formaction="/console/inbox/decline">Decline the ticked days…</button></div>`}${
    answered.length > 0 &&
    html`<section class="card narrow"><h2>Answered</h2><ul class="bullets">${answered.map(
      ({ day }) =>
        html`<li><a href="/console/bookings/${day.bookingId}">${shortDate(day.date)}</a> ${statusBadge(day)}</li>`,
    )}</ul></section>`
  }`;
}

/** Asks before all requests of a series that wait are withdrawn. */
function withdrawPage(
  visit: Visit,
  booking: Pick<BookingDocument, 'bookingId' | 'spaceName'>,
  waiting: readonly BookingDocument[],
  problems: Problems = {},
): PageContent {
  const { amount } = visit;
  const hint = 'The community will see it.';
  const what = counted(waiting.length, 'request');
  const back = { href: pathOf(visit, booking), label: `Booking #${booking.bookingId}` };
  return {
    title: 'Withdraw these requests',
    heading: `Withdraw ${what}?`,
    back,
    problems,
    main: postForm(
      visit,
      withdrawPath(booking.bookingId),
      'card fields narrow',
    )`${viaField(visit)}${hiddenField('shown', idsOf(waiting))}
<p>${named(booking.spaceName)}${amount && `, ${totalOf(waiting, amount)} in all`}:</p>
<ul class="bullets">${waiting.map((day) => html`<li>${shortDate(day.date)}, ${hours(day.startHour, day.freeFrom)}</li>`)}</ul>
<p>The times become available to others again. This cannot be undone. Days that were approved stay.</p>
${reasonField(visit, { label: 'Reason (optional)', hint, required: false, problems })}
<div class="row"><button class="button danger">Withdraw ${what}</button>
${buttonLink(back.href, 'Keep them', 'quiet')}</div>`,
  };
}

/** The other days of the series of a booking, on its page. */
export function seriesSection(
  visit: Visit,
  { bookingId }: Pick<BookingDocument, 'bookingId'>,
  days: readonly BookingDocument[],
): Html | undefined {
  if (days.length < 2) return undefined;
  const waiting = days.filter(({ status }) => status === 'Pending').length;
  const isBrand = visit.account.kind === 'Brand';
  const link = isBrand
    ? buttonLink(withVia(visit, withdrawPath(bookingId)), `Withdraw all ${waiting} that wait…`, 'quiet')
    : buttonLink(seriesPath(bookingId), 'Answer day by day', 'quiet');
  return html`<div class="stack tight" id="series"><p class="small"><strong>One of ${daysText(days)}:</strong></p>
${dayLinks(days, bookingId)}${waiting > 1 && may(visit, 'Coordinator') && html`<div class="row">${link}</div>`}</div>`;
}
