import { randomUUID } from 'node:crypto';
import { localDate } from '../../domain/calendar.ts';
import { isRefusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import type { Cents, PlainDate } from '../../domain/ids.ts';
import type { ClosedKind } from '../../domain/time-slots.ts';
import { counted, hours, shortDate } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import type { Customer } from '../../queries/customers.ts';
import { type Answer, done, forbidden, nothingToDo, type PageContent } from '../parts/answer.ts';
import { backTo, viaField } from '../parts/back-link.ts';
import { hasProblems, hiddenField, onceField, postForm, problemOf } from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { addressOf, CUSTOMERS, ENTER, FREE_TIMES } from '../parts/links.ts';
import { changeButton, checkedDays, dayChoices, isToBeChanged, refusedText, TICK_ONE } from '../parts/repeated-days.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { CommunityVisit, Visit } from '../parts/visit.ts';
import { customerIn, namesList } from './customer-names.ts';
import { type Entered, entryFields, filledIn, readEntry, type TypedEntry, typedEntry } from './entry-form.ts';

/** Why an hour is not free, for the community. */
const NOT_FREE: { readonly [K in ClosedKind]: string } = {
  Inactive: 'the space is closed',
  OutsideWindow: 'the space is not open then',
  TooFar: 'too far ahead',
  TooSoon: 'sooner than the space has to be requested',
  Past: 'in the past',
  Skipped: 'the clocks are changed and skip the hour',
  Closed: 'closed, or an own event',
  Booked: 'booked',
  Requested: 'a request waits for an answer',
  BookedByYou: 'booked',
  RequestedByYou: 'a request waits for an answer',
};

/** The form with which a community enters bookings of its customers (docs/decisions/customers.md). */
export function entryPages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  community.get(ENTER, 'Coordinator', async (visit) => {
    const typed = visit.restored === undefined ? filledIn(visit.query) : typedEntry(visit.restored);
    if (isPricedUnseen(visit, typed)) return forbidden('amounts');
    return entryPage(visit, typed, {});
  });

  community.post(ENTER, 'Coordinator', async (visit) => {
    const { account, form, now } = visit;
    const typed = typedEntry(form);
    if (isPricedUnseen(visit, typed)) return forbidden('amounts');
    const spaces = await queries.spaces.list(account);
    const read = readEntry(typed, spaces, now);
    const found = typed.isNew === '' ? await customerIn(queries, account.id, typed.customer) : undefined;
    const problems = {
      ...(found !== undefined && 'problem' in found && { customer: found.problem }),
      ...read.problems,
    };
    if (hasProblems(problems) || read.problems !== undefined) return entryPage(visit, typed, problems);
    const { entered } = read;
    if (isToBeChanged(form)) return entryPage(visit, typed, {});
    const picked = form.all('day');
    // Several days are shown before anything is stored.
    if (entered.days.length > 1 && picked.length === 0) return checkPage(visit, typed, entered);
    const days = entered.days.length > 1 ? pickedOf(entered, picked) : entered;
    const customer = found === undefined || 'problem' in found ? await added(visit, typed) : found;
    return 'problems' in customer ? entryPage(visit, typed, customer.problems) : enter(visit, typed, days, customer);
  });

  /** Adds the customer that is typed. A form that is sent again finds it. */
  async function added({ account, context }: CommunityVisit, typed: TypedEntry) {
    const wanted = typed.contact === '' ? {} : { contact: typed.contact };
    const outcome = await commands.customers.add({ communityId: account.id, name: typed.customer, wanted }, context);
    return isRefusal(outcome)
      ? { problems: problemOf(outcome, { name: 'Customer', contact: 'Contact' }, NAMED) }
      : outcome;
  }

  async function enter(
    visit: CommunityVisit,
    typed: TypedEntry,
    { space, days, startHour, further, entry }: Entered,
    { brandId, name }: Pick<Customer, 'brandId' | 'name'>,
  ): Promise<Answer> {
    const { account, form, context } = visit;
    const key = form.text('requestKey');
    const booked: { readonly bookingId: number; readonly totalPrice: Cents; readonly text: string }[] = [];
    const refused: string[] = [];
    const series = days.length > 1 ? defined({ series: form.text('series') || undefined }) : {};
    for (const day of days) {
      if (!('date' in day)) continue;
      const details = { spaceId: space.spaceId, date: day.date, startHour, ...further, ...series };
      const idempotencyKey = `console:${key}:${day.date}`;
      const command = { enteredBy: account.id, brandId, details, entry, ...(key !== '' && { idempotencyKey }) };
      const outcome = await commands.bookings.enter(command, context);
      if (!isRefusal(outcome)) booked.push({ ...outcome, text: whenOf(visit, outcome) });
      // With one day, the form comes back with what was typed.
      else if (days.length === 1) return entryPage(visit, { ...typed, isNew: '' }, problemOf(outcome, ENTRY_LABELS));
      else refused.push(`${shortDate(day.date)}: ${outcome.details}`);
    }
    const [only] = booked;
    const what = booked.length === 1 ? `${only?.text} (#${only?.bookingId})` : counted(booked.length, 'booking');
    const lines = [
      ...(booked.length === 0 ? [] : [`Entered for ${namedText(name)}: ${what}, ${namedText(space.name)}.`]),
      ...refusedText(refused, 'entered'),
    ];
    const go = visit.via ?? addressOf(ENTER, { space: String(space.spaceId), date: typed.date });
    return booked.length === 0 ? nothingToDo(go, lines.join('\n')) : done(go, lines.join('\n'));
  }

  async function entryPage(visit: CommunityVisit, typed: TypedEntry, problems: Problems): Promise<PageContent> {
    const { account, now, accountZone } = visit;
    const [spaces, names] = await Promise.all([queries.spaces.list(account), namesList(queries, account.id)]);
    const until = visit.query.text('free');
    const own = {
      kind: 'OwnEvent',
      spaces: typed.space,
      from: typed.date,
      start: typed.startHour,
      until,
      via: visit.via,
    };
    return {
      title: 'Enter a booking',
      lead: 'For a customer that you look after. It is approved at once, in your name.',
      back: backTo(visit, { href: CUSTOMERS, label: 'Customers' }),
      actions: html`<div class="row">${buttonLink(FREE_TIMES, 'Find a free time', 'quiet')}
${buttonLink(addressOf('/console/calendar/closures/new', own), 'An own event instead', 'quiet')}</div>`,
      problems,
      main:
        spaces.length === 0
          ? emptyState('space', 'No spaces yet')`There must be a space first.`
          : postForm(visit, ENTER, 'card fields narrow')`${onceField('requestKey')}${viaField(visit)}${names}
${entryFields(visit, typed, spaces, problems, localDate(now, accountZone))}
<div><button class="button">Enter</button></div>`,
    };
  }

  async function checkPage(visit: CommunityVisit, typed: TypedEntry, entered: Entered): Promise<PageContent> {
    // None of the days that the page has shown is ticked.
    const problems = visit.form.text('series') === '' ? undefined : { day: TICK_ONE };
    const { space, startHour, entry } = entered;
    const { isAtShortNotice } = entry;
    const { spaceId } = space;
    const wanted = { account: visit.account, spaceId, days: entered.days, startHour, isAtShortNotice };
    const days = await checkedDays(queries, wanted, (kind) => NOT_FREE[kind]);
    const free = days.filter(({ date }) => date !== undefined);
    const button = free.length > 0 && html`<button class="button">Enter the ticked days</button>`;
    return {
      title: 'Enter these days?',
      lead: html`${named(typed.customer)}, ${named(space.name)}: ${counted(free.length, 'day')} of ${days.length} free.`,
      ...(problems === undefined ? { status: 200 } : { problems }),
      main: postForm(
        visit,
        ENTER,
        'card fields narrow',
      )`${onceField('requestKey')}${hiddenField('series', randomUUID())}${viaField(visit)}${carried(typed)}
${dayChoices(days, (date) => ({ value: date, isTicked: true }))}
<div class="row">${button}${changeButton}</div>`,
    };
  }
}

const NAMED = { name: { field: 'customer', text: 'There is a customer with this name already.' } };
const ENTRY_LABELS = { date: 'Day', startHour: 'Start', guests: 'Guests', message: 'Note', eventFee: 'Price' };

/** What is entered, on the days that are ticked. */
const pickedOf = (entered: Entered, picked: readonly string[]): Entered => ({
  ...entered,
  days: entered.days.filter((day) => 'date' in day && picked.includes(day.date)),
});

const carried = (typed: TypedEntry): readonly Html[] =>
  Object.entries(typed).flatMap(([name, value]) => (value === '' ? [] : [hiddenField(name, value)]));

/** Whether a member who sees no amounts gives one. */
const isPricedUnseen = ({ amount }: Pick<Visit, 'amount'>, { eventFee }: TypedEntry): boolean =>
  amount === undefined && eventFee !== '';

const whenOf = ({ amount }: Visit, { date, startHour, freeFrom, totalPrice, currency }: Booked): string =>
  [shortDate(date), hours(startHour, freeFrom), amount?.(totalPrice, currency)].filter(Boolean).join(', ');
type Booked = {
  readonly date: PlainDate;
  readonly startHour: number;
  readonly freeFrom: number;
  readonly totalPrice: Cents;
  readonly currency: string;
};
