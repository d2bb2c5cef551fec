import type { BookingDocument } from '../../../projections/bookings.ts';
import type { Account } from '../../domain/account.ts';
import { isRefusal } from '../../domain/decision.ts';
import type { CommunityId } from '../../domain/ids.ts';
import { html } from '../../html/html.ts';
import { type Flash, icon } from '../../html/layout.ts';
import { named } from '../../html/names.ts';
import { isUnavailable } from '../../runtime/unavailable.ts';
import { csrfField } from '../parts/fields.ts';
import { amount, counted, hours, shortDate } from '../parts/formats.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import { type Answer, Form, idOf, missing, type Routes, type Shown, type Visit } from '../parts/visit.ts';
import { briefly } from './after-decision.ts';
import { isAbove, listFieldsOf } from './decision-forms.ts';
import { inboxPath, listOfForm, type RequestList, requestList } from './request-list.ts';
import { lastStepOf, sentenceOf } from './what-happened.ts';

/** At most so many at once: more than a page has. */
const MAX_AT_ONCE = 100;
/** The message travels in a cookie of 4 KiB, sealed. What does not fit is told by the rows themselves. */
const MAX_MESSAGE_BYTES = 2_200;

type Outcome = { readonly request: BookingDocument; readonly refused?: string };

/** Approving several requests: each is decided on its own, and each that could not be is named. */
export function bulkApprovalPages(routes: Routes, deps: PageDeps): void {
  const { commands, queries, settings } = deps;

  routes.get('/console/inbox/approve', async () => ({ go: '/console/inbox' }), 'Community');

  routes.post(
    '/console/inbox/approve',
    async (visit) => {
      const { account, form } = visit;
      if (account.kind !== 'Community') return missing('page');
      const list = listOfForm(form) ?? requestList(new Form({}));
      const ids = [...new Set(form.all('id').flatMap((id) => idOf(id) ?? []))];
      const back = (text: string): Answer => ({ go: inboxPath(list, list), flash: { kind: 'notice', text } });
      if (ids.length === 0) return back('Nothing was selected, so nothing was approved.');
      if (ids.length > MAX_AT_ONCE)
        return back(
          `Nothing was approved: ${ids.length} were selected, and at most ${MAX_AT_ONCE} are approved at once.`,
        );
      const selected = await queries.requests.some(account, ids);
      if (selected.length === 0)
        return back('Nothing was approved: what was selected is not a request to this account.');
      const confirmed = new Set(form.all('confirmed'));
      const above = selected.filter((one) => one.status === 'Pending' && isAbove(settings, one));
      if (above.some(({ bookingId }) => !confirmed.has(String(bookingId))))
        return askForAll(visit, list, selected, above, settings);

      const outcomes = await Promise.all(selected.map((request) => approve(visit, account.id, request)));
      const { flash, isWhole } = messageOf(outcomes, account);
      const shown = list.shown.length > 0 || isWhole ? list.shown : ids;
      return { go: inboxPath(list, { ...list, shown }), flash };
    },
    'Community',
  );

  async function approve(visit: Visit, communityId: CommunityId, request: BookingDocument): Promise<Outcome> {
    try {
      const command = { bookingId: request.bookingId, communityId };
      const outcome = await commands.bookings.approve(command, visit.context);
      if (!isRefusal(outcome)) return { request };
      const last = await lastStepOf(queries, visit, request);
      return { request, refused: last === undefined || last.verb === 'requested' ? outcome.details : sentenceOf(last) };
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return { request, refused: 'It is not known whether it was approved: look again in a moment.' };
    }
  }
}

/** What became of each, and whether all that were refused are named. */
function messageOf(
  outcomes: readonly Outcome[],
  account: Account,
): { readonly flash: Flash; readonly isWhole: boolean } {
  const done = outcomes.filter(({ refused }) => refused === undefined).map(({ request }) => request);
  const refused = outcomes.filter((one) => one.refused !== undefined);
  const [only] = done;
  const names = only !== undefined && done.length === 1 ? `: ${briefly(only, account)}` : '';
  const charged = [...Map.groupBy(done, ({ currency }) => currency)].map(([currency, list]) =>
    amount(
      list.reduce((sum, { totalPrice }) => sum + totalPrice, 0),
      currency,
    ),
  );
  const approved =
    done.length === 0
      ? 'Nothing was approved.'
      : `${counted(done.length, 'request')} approved${names}. ${charged.join(' and ')} ${done.length === 1 ? 'was' : 'were'} charged.`;
  if (refused.length === 0) return { flash: { kind: 'done', text: approved }, isWhole: true };

  const lines = [approved, `${counted(refused.length, 'request')} could not be approved:`];
  let named = 0;
  for (const { request, refused: why } of refused) {
    const line = `${briefly(request, account)}: ${why}`;
    if (Buffer.byteLength([...lines, line].join('\n')) > MAX_MESSAGE_BYTES) break;
    lines.push(line);
    named += 1;
  }
  const isWhole = named === refused.length;
  if (!isWhole) lines.push(`And ${counted(refused.length - named, 'other')}: see the rows below.`);
  return { flash: { kind: 'problem', text: lines.join('\n') }, isWhole };
}

/** Asks once more when some of the selected requests are above the amount of the setting. */
function askForAll(
  visit: Visit,
  list: RequestList,
  selected: readonly BookingDocument[],
  above: readonly BookingDocument[],
  { approveConfirmAbove }: PageDeps['settings'],
): Shown {
  const [first] = above;
  const others = selected.filter((one) => !above.includes(one));
  const back = inboxPath(list, list);
  const form = (requests: readonly BookingDocument[], button: string, look = '') =>
    html`<form method="post" action="/console/inbox/approve">${csrfField(visit)}${listFieldsOf(visit.form)}${requests.map(
      ({ bookingId }) =>
        html`<input type="hidden" name="id" value="${bookingId}"><input type="hidden" name="confirmed" value="${bookingId}">`,
    )}<button class="button ${look}">${button}</button></form>`;
  return {
    title: 'Approve these requests',
    section: 'inbox',
    main: html`<p class="back"><a href="${back}">${icon('back')} Requests</a></p>
<section class="card narrow"><h1>Approve ${counted(selected.length, 'request')}?</h1>
<p>${counted(above.length, 'request')} of them ${above.length === 1 ? 'is' : 'are'} above ${amount(approveConfirmAbove ?? 0, first?.currency ?? '')}, from where on approvals are confirmed:</p>
<ul class="bullets">${above.map(
      ({ totalPrice, currency, brandName, spaceName, date, startHour, freeFrom }) =>
        html`<li><strong>${amount(totalPrice, currency)}</strong>: ${named(brandName)}, ${named(spaceName)}, ${shortDate(date)}, ${hours(startHour, freeFrom)}</li>`,
    )}</ul>
<div class="row">${form(selected, `Approve all ${selected.length}`)}${others.length > 0 && form(others, `Approve only the other ${others.length}`, 'quiet')}<a class="button quiet" href="${back}">Approve nothing yet</a></div></section>`,
  };
}
