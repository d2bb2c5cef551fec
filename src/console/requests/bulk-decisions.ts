import type { BookingDocument } from '../../../projections/bookings.ts';
import { isLetIn } from '../../domain/admission.ts';
import { type Refusal, refuse } from '../../domain/decision.ts';
import { counted, hours, shortDate } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { type Answer, nothingToDo, type PageContent } from '../parts/answer.ts';
import { hasProblems, hiddenField, postForm } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import { Form, type Problems } from '../parts/typed-form.ts';
import type { CommunityVisit, Visit } from '../parts/visit.ts';
import { leftOutText } from './admission-forms.ts';
import { type BulkVerb, decideEach, MAX_BULK_BOOKINGS, messageOf, totalOf } from './bulk-outcomes.ts';
import {
  listFieldsOf,
  mayApprove,
  NEEDS_AMOUNTS,
  needsConfirmation,
  problemsOfReason,
  reasonField,
} from './decision-forms.ts';
import { recentReasons } from './inbox-reads.ts';
import { idsIn, inboxPath, listOfForm, type RequestList, requestList } from './request-list.ts';

/** Decides several requests, each on its own. The message names those that were refused. */
export function bulkDecisionPages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  for (const step of ['approve', 'decline'])
    community.get(`/console/inbox/${step}`, 'Viewer', async () => ({ go: '/console/inbox' }));

  community.post('/console/inbox/approve', 'Coordinator', async (visit) => {
    const picked = await selectedIn(visit, 'approved');
    if ('go' in picked) return picked;
    const confirmed = new Set(visit.form.all('confirmed'));
    const above = picked.selected.filter(
      (one) => one.status === 'Pending' && mayApprove(visit, one) && needsConfirmation(visit, one),
    );
    const isConfirmed = above.every(({ bookingId }) => confirmed.has(String(bookingId)));
    if (picked.matching !== undefined || !isConfirmed) return confirmAll(visit, picked, above);
    return decideAll(visit, picked, 'approved', async (request) =>
      mayApprove(visit, request)
        ? commands.bookings.approve({ bookingId: request.bookingId, communityId: visit.account.id }, visit.context)
        : refuse('InsufficientPermissions', NEEDS_AMOUNTS),
    );
  });

  community.post('/console/inbox/decline', 'Coordinator', async (visit) => {
    const picked = await selectedIn(visit, 'declined');
    if ('go' in picked) return picked;
    const reason = visit.form.lines('reason');
    const problems = problemsOfReason(reason);
    if (hasProblems(problems)) {
      // The inbox sends no reason: this page asks for it.
      const shown = visit.form.all('reason').length > 0 ? problems : {};
      return declineAll(visit, picked, shown, await recentReasons(queries, visit.account));
    }
    return decideAll(visit, picked, 'declined', ({ bookingId }) =>
      commands.bookings.cancel({ bookingId, by: visit.account, expected: 'Pending', reason }, visit.context),
    );
  });

  /** The requests that a form selects, or a redirect if there are none. */
  async function selectedIn(visit: CommunityVisit, verb: Verb): Promise<(Answer & { go: string }) | Picked> {
    const { account, form } = visit;
    const list = listOfForm(visit) ?? requestList(new Form({}), visit);
    if (form.text('all') !== '') return everyPage(account, list, verb);
    const ids = [...new Set(form.all('id').flatMap(idsIn))];
    const nothing = (text: string) => nothingToDo(inboxPath(list, list), text);
    if (ids.length === 0) return nothing(`Nothing was selected, so nothing was ${verb}.`);
    if (ids.length > MAX_BULK_BOOKINGS)
      return nothingToDo(
        inboxPath(list, { ...list, picked: form.all('id') }),
        `Nothing was ${verb}: you selected ${ids.length} requests. Select at most ${MAX_BULK_BOOKINGS}.`,
      );
    const selected = await queries.requests.some(account, ids);
    if (selected.length === 0) return nothing(`Nothing was ${verb}: the selected requests are not to this account.`);
    return { selected, list };
  }

  /** The first requests of all pages of a list. */
  async function everyPage(account: CommunityVisit['account'], list: RequestList, verb: Verb) {
    const path = inboxPath(list, list);
    if (hasProblems(list.problems)) return nothingToDo(path, `Nothing was ${verb}: fix the filter first.`);
    const [first, matching] = await Promise.all([
      queries.requests.pending(account.id, list.filter, { order: list.sort, limit: MAX_BULK_BOOKINGS }),
      queries.requests.count(account.id, list.filter),
    ]);
    if (first.length === 0) return nothingToDo(path, `Nothing was ${verb}: no request is left in this list.`);
    const ids = first.map(({ brandId }) => brandId);
    const brands = await queries.admissions.ofBrands(account.id, ids);
    const selected = first.filter(({ brandId }) => isLetIn(brands.get(brandId)?.standing ?? 'waits'));
    const leftOut = first.length - selected.length;
    if (selected.length === 0) return nothingToDo(path, `Nothing was ${verb}. ${leftOutText(leftOut)}`);
    return { selected, list, matching, leftOut };
  }

  async function decideAll(
    visit: CommunityVisit,
    { selected, list }: Picked,
    verb: Verb,
    decide: (request: BookingDocument) => Promise<Refusal | object>,
  ): Promise<Answer> {
    const each = { verb, decide, undecided: () => 'requested' as const };
    const { flash, isWhole } = messageOf(await decideEach(queries, visit, selected, each), visit, verb);
    const ids = selected.map(({ bookingId }) => bookingId);
    const shown = list.shown.length > 0 || isWhole ? list.shown : ids;
    return { go: inboxPath(list, { ...list, shown }), flash };
  }
}

type Verb = Extract<BulkVerb, 'approved' | 'declined'>;
type Picked = {
  readonly selected: readonly BookingDocument[];
  readonly list: RequestList;
  /** If the form selects the requests of all pages: how many they are. */
  readonly matching?: number;
  /** How many of the first were left out. */
  readonly leftOut?: number;
};

/** Lists the requests that a question is about. */
const listed = ({ amount }: Visit, requests: readonly BookingDocument[]): Html =>
  html`<ul class="bullets">${requests.map(
    ({ totalPrice, currency, brandName, spaceName, date, startHour, freeFrom }) =>
      html`<li>${amount && html`<strong>${amount(totalPrice, currency)}</strong>: `}${named(brandName)}, ${named(spaceName)},
${shortDate(date)}, ${hours(startHour, freeFrom)}</li>`,
  )}</ul>`;

const idFields = (requests: readonly BookingDocument[]): Html =>
  html`${requests.map(({ bookingId }) => hiddenField('id', bookingId))}`;

/** Says which requests are meant if their list has further pages. The first ones can be decided at once. */
function extentOf({ selected, matching, leftOut = 0, list }: Picked): Html | undefined {
  if (matching === undefined) return undefined;
  const without = leftOut > 0 && html`<p>${leftOutText(leftOut)}</p>`;
  const order = list.sort === 'deadline' ? 'earliest deadline first' : 'earliest event first';
  return matching > selected.length + leftOut
    ? html`${without}<p>These are the first ${selected.length} of ${matching.toLocaleString('en')} requests, ${order}. Decide
the others afterwards.</p>`
    : html`${without}<p>These are all${leftOut > 0 && ' other'} requests of the list:</p>`;
}

/** Asks for confirmation when some of the selected requests are above the amount of the setting, or on other pages of the list. */
function confirmAll(visit: Visit, picked: Picked, above: readonly BookingDocument[]): PageContent {
  const { amount } = visit;
  const { selected, list } = picked;
  const others = selected.filter((one) => !above.includes(one));
  const back = { href: inboxPath(list, list), label: 'Requests' };
  const form = (requests: readonly BookingDocument[], button: string, classes = '') => {
    const confirmed = requests.map(({ bookingId }) => hiddenField('confirmed', bookingId));
    return postForm(visit, '/console/inbox/approve')`${listFieldsOf(visit.form)}${idFields(requests)}${confirmed}
<button class="button ${classes}">${button}</button>`;
  };
  const extent = extentOf(picked);
  const areMore = (picked.matching ?? 0) > selected.length + (picked.leftOut ?? 0);
  const all = `${areMore ? 'Approve the first' : 'Approve all'} ${selected.length}`;
  return {
    title: 'Approve these requests',
    heading: `Approve ${counted(selected.length, 'request')}?`,
    back,
    main: html`<section class="card narrow">${extent}${extent && listed(visit, selected)}
${extent && amount && html`<p>${totalOf(selected, amount)} will be charged to the brands.</p>`}${
  above.length > 0 && aboveLimit(visit, above)
}
<div class="row">${form(selected, all)}${
      above.length > 0 &&
      others.length > 0 &&
      form(others, `Approve only the ${others.length} up to ${confirmationLimit(visit, above)}`, 'quiet')
    }${buttonLink(back.href, 'Approve nothing yet', 'quiet')}</div></section>`,
  };
}

const confirmationLimit = ({ settings, amount }: Visit, above: readonly BookingDocument[]): string | undefined =>
  amount?.(settings.approveConfirmAbove ?? 0, above[0]?.currency ?? '');

function aboveLimit(visit: Visit, above: readonly BookingDocument[]): Html {
  const limit = confirmationLimit(visit, above);
  const are = above.length === 1 ? 'is' : 'are';
  return html`<p>${counted(above.length, 'request')} of them ${are} above ${limit}, so the approval must be confirmed:</p>
${listed(visit, above)}`;
}

/** Asks for the reason that all of the selected requests are declined for. */
function declineAll(visit: Visit, picked: Picked, problems: Problems, reasons: readonly string[]): PageContent {
  const { selected, list } = picked;
  const back = { href: inboxPath(list, list), label: 'Requests' };
  const what = counted(selected.length, 'request');
  const saved = reasons.map(
    (text) =>
      html`<li><button type="button" class="button quiet small" data-reason="${text}" hidden>${named(text)}</button></li>`,
  );
  const hint = selected.length === 1 ? 'The brand will see it.' : 'Every brand will see it.';
  const reason = reasonField(visit, { label: 'Reason', hint, required: true, isFocused: true, problems });
  const content = html`${listFieldsOf(visit.form)}${idFields(selected)}
${extentOf(picked)}${listed(visit, selected)}
<p>Declining is final. The times become available to others again.</p>
${reason}${reasons.length > 0 && html`<ul class="chips" aria-label="Reasons given before">${saved}</ul>`}
<div class="row"><button class="button danger">Decline ${what}</button>${buttonLink(back.href, 'Decline nothing', 'quiet')}</div>`;
  return {
    title: 'Decline these requests',
    heading: `Decline ${what}?`,
    back,
    problems,
    main: postForm(visit, '/console/inbox/decline', 'card fields narrow')`${content}`,
  };
}
