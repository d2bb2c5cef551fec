import type { BookingDocument } from '../../../projections/bookings.ts';
import type { Account } from '../../domain/account.ts';
import { isRefusal } from '../../domain/decision.ts';
import type { CommunityId } from '../../domain/ids.ts';
import { html, named } from '../../html/html.ts';
import type { Flash } from '../../html/layout.ts';
import { isUnavailable } from '../../runtime/unavailable.ts';
import { amount, counted, hours, shortDate } from '../parts/formats.ts';
import { postForm } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { type ConsoleRoutes, Form, idOf, nothingToDo, type PageDeps, type Shown, type Visit } from '../parts/visit.ts';
import { briefly } from './after-decision.ts';
import { listFieldsOf, needsConfirmation } from './decision-forms.ts';
import { inboxPath, listOfForm, type RequestList, requestList } from './request-list.ts';
import { lastStepOf, sentenceOf } from './what-happened.ts';

/** More than a page has. */
const MAX_AT_ONCE = 100;
/** The message travels in a sealed cookie of 4 KiB. The rows show what does not fit. */
const MAX_MESSAGE_BYTES = 2_200;

type Outcome = { readonly request: BookingDocument; readonly refused?: string };

/** Approving several requests: each is decided on its own, and the message names each that was refused. */
export function bulkApprovalPages({ community }: ConsoleRoutes, { commands, queries, settings }: PageDeps): void {
  community.get('/console/inbox/approve', async () => ({ go: '/console/inbox' }));

  community.post('/console/inbox/approve', async (visit) => {
    const { account, form } = visit;
    const list = listOfForm(form) ?? requestList(new Form({}));
    const ids = [...new Set(form.all('id').flatMap((id) => idOf(id) ?? []))];
    const nothing = (text: string) => nothingToDo(inboxPath(list, list), text);
    if (ids.length === 0) return nothing('Nothing was selected, so nothing was approved.');
    if (ids.length > MAX_AT_ONCE)
      return nothing(`Nothing was approved: you selected ${ids.length} requests. Select at most ${MAX_AT_ONCE}.`);
    const selected = await queries.requests.some(account, ids);
    if (selected.length === 0) return nothing('Nothing was approved: the selected requests are not to this account.');
    const confirmed = new Set(form.all('confirmed'));
    const above = selected.filter((one) => one.status === 'Pending' && needsConfirmation(settings, one));
    if (above.some(({ bookingId }) => !confirmed.has(String(bookingId))))
      return confirmAll(visit, list, selected, above, settings);

    const outcomes = await Promise.all(selected.map((request) => approve(visit, account.id, request)));
    const { flash, isWhole } = messageOf(outcomes, account);
    const shown = list.shown.length > 0 || isWhole ? list.shown : ids;
    return { go: inboxPath(list, { ...list, shown }), flash };
  });

  async function approve(visit: Visit, communityId: CommunityId, request: BookingDocument): Promise<Outcome> {
    try {
      const command = { bookingId: request.bookingId, communityId };
      const outcome = await commands.bookings.approve(command, visit.context);
      if (!isRefusal(outcome)) return { request };
      const last = await lastStepOf(queries, visit, request);
      return { request, refused: last === undefined || last.verb === 'requested' ? outcome.details : sentenceOf(last) };
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return { request, refused: 'It is not known whether it was approved. Look again in a moment.' };
    }
  }
}

/** The message about all of them, and whether it names all that were refused. */
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

/** Asks for confirmation when some of the selected requests are above the amount of the setting. */
function confirmAll(
  visit: Visit,
  list: RequestList,
  selected: readonly BookingDocument[],
  above: readonly BookingDocument[],
  { approveConfirmAbove }: PageDeps['settings'],
): Shown {
  const [first] = above;
  const others = selected.filter((one) => !above.includes(one));
  const back = { href: inboxPath(list, list), label: 'Requests' };
  const form = (requests: readonly BookingDocument[], button: string, look = '') => {
    const ids = requests.map(
      ({ bookingId }) =>
        html`<input type="hidden" name="id" value="${bookingId}"><input type="hidden" name="confirmed" value="${bookingId}">`,
    );
    const content = html`${listFieldsOf(visit.form)}${ids}<button class="button ${look}">${button}</button>`;
    return postForm(visit, '/console/inbox/approve', '', content);
  };
  const limit = amount(approveConfirmAbove ?? 0, first?.currency ?? '');
  return {
    title: 'Approve these requests',
    heading: `Approve ${counted(selected.length, 'request')}?`,
    back,
    main: html`<section class="card narrow"><p>${counted(above.length, 'request')} of them ${above.length === 1 ? 'is' : 'are'} above ${limit}, so the approval must be confirmed:</p>
<ul class="bullets">${above.map(
      ({ totalPrice, currency, brandName, spaceName, date, startHour, freeFrom }) =>
        html`<li><strong>${amount(totalPrice, currency)}</strong>: ${named(brandName)}, ${named(spaceName)}, ${shortDate(date)}, ${hours(startHour, freeFrom)}</li>`,
    )}</ul>
<div class="row">${form(selected, `Approve all ${selected.length}`)}${others.length > 0 && form(others, `Approve only the other ${others.length}`, 'quiet')}${buttonLink(back.href, 'Approve nothing yet', 'quiet')}</div></section>`,
  };
}
