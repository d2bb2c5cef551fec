import type { BookingDocument } from '../../../projections/bookings.ts';
import { isRefusal, type Refusal } from '../../domain/decision.ts';
import { counted } from '../../html/formats.ts';
import type { Flash } from '../../html/layout.ts';
import { isUnavailable } from '../../runtime/unavailable.ts';
import { briefly } from '../parts/booking-views.ts';
import type { PageDeps } from '../parts/routes.ts';
import type { AmountFormat, Visit } from '../parts/visit.ts';
import { lastStepOf, type StepVerb, sentenceOf } from './what-happened.ts';

/** Bookings that a form decides at once: more than the rows of a page. */
export const MAX_BULK_BOOKINGS = 100;
/** The message travels in a sealed cookie of 4 KiB. The rows show what does not fit. */
export const MAX_MESSAGE_BYTES = 2_200;

export type BulkVerb = 'approved' | 'declined' | 'withdrawn' | 'cancelled' | 'proposed' | 'moved';

/** What became of one of several bookings. */
export type BulkOutcome = { readonly request: BookingDocument; readonly refused?: string };

/** The bookings that were decided. */
export const decidedIn = (outcomes: readonly BulkOutcome[]): readonly BookingDocument[] =>
  outcomes.flatMap(({ request, refused }) => (refused === undefined ? [request] : []));

/**
 * Decides each of several bookings on its own.
 * @param each `undecided`: the last change of state of a booking that nothing has happened to meanwhile, so that the refusal itself gives the reason
 */
export const decideEach = (
  queries: PageDeps['queries'],
  visit: Visit,
  selected: readonly BookingDocument[],
  each: {
    readonly verb: BulkVerb;
    readonly decide: (request: BookingDocument) => Promise<Refusal | object>;
    readonly undecided: (request: BookingDocument) => StepVerb;
  },
): Promise<readonly BulkOutcome[]> =>
  Promise.all(
    selected.map(async (request): Promise<BulkOutcome> => {
      try {
        const outcome = await each.decide(request);
        if (!isRefusal(outcome)) return { request };
        const last = await lastStepOf(queries, visit, request);
        const isUndecided = last === undefined || last.verb === each.undecided(request);
        return { request, refused: isUndecided ? outcome.details : sentenceOf(last) };
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        return { request, refused: `It is not known whether it was ${each.verb}. Look again in a moment.` };
      }
    }),
  );

/** The message about all of them, and whether it names all that were refused. */
export function messageOf(
  outcomes: readonly BulkOutcome[],
  visit: Pick<Visit, 'account' | 'amount'>,
  verb: BulkVerb,
  mostBytes = MAX_MESSAGE_BYTES,
): { readonly flash: Flash; readonly isWhole: boolean } {
  const done = decidedIn(outcomes);
  const refused = outcomes.filter((one) => one.refused !== undefined);
  const summary = doneText(done, visit, verb);
  if (refused.length === 0) return { flash: { kind: 'done', text: summary }, isWhole: true };

  const lines = [summary, `${counted(refused.length, nounOf(verb))} could not be ${verb}:`];
  let namedCount = 0;
  for (const { request, refused: why } of refused) {
    const line = `${briefly(request, visit.account)}: ${why}`;
    if (Buffer.byteLength([...lines, line].join('\n')) > mostBytes) break;
    lines.push(line);
    namedCount += 1;
  }
  const isWhole = namedCount === refused.length;
  const where = verb === 'approved' || verb === 'declined' ? ': see the rows below' : '';
  if (!isWhole) lines.push(`And ${counted(refused.length - namedCount, 'other')}${where}.`);
  return { flash: { kind: 'problem', text: lines.join('\n') }, isWhole };
}

/** `2 requests approved. $230.00 were charged.` */
function doneText(
  done: readonly BookingDocument[],
  { account, amount }: Pick<Visit, 'account' | 'amount'>,
  verb: BulkVerb,
): string {
  if (done.length === 0) return `Nothing was ${verb}.`;
  const [only] = done;
  const names = only !== undefined && done.length === 1 ? `: ${briefly(only, account)}` : '';
  const text = `${counted(done.length, nounOf(verb))} ${verb}${names}.`;
  if (verb !== 'approved' && verb !== 'cancelled') return text;
  // Those that were requests had not been paid.
  const paid = verb === 'cancelled' ? done.filter(({ status }) => status === 'Approved') : done;
  if (paid.length === 0 || amount === undefined) return text;
  return `${text} ${totalOf(paid, amount)} ${paid.length === 1 ? 'was' : 'were'} ${verb === 'approved' ? 'charged' : 'refunded'}.`;
}

const NOUNS: { readonly [V in BulkVerb]: string } = {
  approved: 'request',
  declined: 'request',
  withdrawn: 'request',
  cancelled: 'booking',
  proposed: 'move',
  moved: 'booking',
};
const nounOf = (verb: BulkVerb): string => NOUNS[verb];

/** The sum of the totals, or of what the community earns, for each currency. */
export const totalOf = (
  requests: readonly BookingDocument[],
  amount: AmountFormat,
  field: 'totalPrice' | 'eventFee' = 'totalPrice',
): string =>
  [...Map.groupBy(requests, ({ currency }) => currency)]
    .map(([currency, list]) =>
      amount(
        list.reduce((sum, request) => sum + request[field], 0),
        currency,
      ),
    )
    .join(' and ');
