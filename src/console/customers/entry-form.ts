import { DETAIL_LABELS } from '../../contract/booking.ts';
import { type BookingDetails, wrongDetails } from '../../domain/booking-details.ts';
import { isPlainDate, localDate } from '../../domain/calendar.ts';
import { defined } from '../../domain/defined.ts';
import { type Cents, type PlainDate, spaceId } from '../../domain/ids.ts';
import { CUSTOMER_CONTACT, MESSAGE, NAME } from '../../domain/limits.ts';
import { AMOUNT_RULE, parseAmount } from '../../domain/pricing.ts';
import type { SeriesDay } from '../../domain/series.ts';
import type { Space } from '../../domain/space.ts';
import { shortDate } from '../../html/formats.ts';
import { type Html, html, namedText } from '../../html/html.ts';
import { choices, dateField, field, HOUR_OPTIONS, problemOf, select, textArea } from '../parts/forms.ts';
import { REPEAT_FIELDS, readDays, repeatFields } from '../parts/repeated-days.ts';
import { readDate } from '../parts/typed-dates.ts';
import { type Form, idOf, idOrZero, type Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';
import { NAMES_LIST } from './customer-names.ts';

const FIELDS = [
  ...['customer', 'contact', 'space', 'date', 'startHour', ...REPEAT_FIELDS, 'eventFee', 'guests'],
  ...['isNew', 'isAtShortNotice'],
] as const;

/** The form of a booking that a community enters, as it is typed. */
export type TypedEntry = Readonly<Record<(typeof FIELDS)[number], string>> & { readonly message: string };

export const typedEntry = (form: Form): TypedEntry => ({ ...form.texts(FIELDS), message: form.lines('message') });

/** What is entered, on each of its days. */
export type Entered = {
  readonly space: Space;
  readonly days: readonly SeriesDay[];
  readonly startHour: number;
  readonly further: Pick<BookingDetails, 'guests' | 'message'>;
  readonly entry: { readonly eventFee?: Cents; readonly isAtShortNotice?: true };
};

const LABELS = { ...DETAIL_LABELS, eventFee: 'Price' };

/** Reads the form apart from its customer. */
export function readEntry(
  typed: TypedEntry,
  spaces: readonly Space[],
  now: number,
): { readonly entered: Entered; readonly problems?: undefined } | { readonly problems: Problems } {
  const space = spaces.find((each) => String(each.spaceId) === typed.space);
  const { date, problem } = typed.date === '' ? { problem: 'Choose a day.' } : readDate(typed.date);
  const startHour = idOrZero(typed.startHour);
  const days = readDays(typed, date);
  const eventFee = typed.eventFee === '' ? undefined : parseAmount(typed.eventFee);
  const guests = typed.guests === '' ? undefined : (idOf(typed.guests) ?? Number.NaN);
  const further = defined({ guests, message: typed.message || undefined });
  const today = localDate(now, space?.timeZone ?? 'UTC');
  const rest = wrongDetails({ spaceId: spaceId(1), date: today, startHour: startHour ?? 0, ...further });
  const problems: Problems = defined({
    space: space === undefined ? 'Choose a space.' : undefined,
    date: problem,
    startHour: startHour === undefined ? 'Choose an hour.' : undefined,
    ...days.problems,
    eventFee: typed.eventFee !== '' && eventFee === undefined ? `The price ${AMOUNT_RULE}.` : undefined,
    ...(rest && problemOf(rest, LABELS)),
  });
  if (Object.keys(problems).length > 0 || space === undefined || startHour === undefined) return { problems };
  const entry = { ...defined({ eventFee }), ...(typed.isAtShortNotice !== '' && { isAtShortNotice: true as const }) };
  return { entered: { space, days: days.days, startHour, further, entry } };
}

/** A space and an hour that an address fills in, with the hour before which the first day cannot be. */
export const filledIn = (query: Form): TypedEntry => {
  const typed = typedEntry(query);
  return isPlainDate(typed.date) ? { ...typed, date: shortDate(typed.date) } : typed;
};

/** The fields in the order in which a caller tells them. */
export function entryFields(
  { amount }: Pick<Visit, 'amount'>,
  typed: TypedEntry,
  spaces: readonly Space[],
  problems: Problems,
  today: PlainDate,
): Html {
  const control = <N extends keyof TypedEntry>(name: N, label: string) => ({
    name,
    label,
    value: typed[name],
    problems,
  });
  const offerName = { maxlength: NAME.max, autocomplete: 'off', list: NAMES_LIST };
  const options = spaces.map(({ spaceId: id, name }) => ({ value: String(id), label: namedText(name) }));
  const tick = (label: string, checked: boolean) => [{ value: 'yes', label, checked }];
  return html`${field({
    ...control('customer', 'Customer'),
    hint: 'A name, a part of it, or a number such as #12',
    required: true,
    attributes: { ...offerName, ...(typed.customer === '' && { autofocus: '' }) },
  })}
${choices({ name: 'isNew', label: 'New customer', problems }, 'checkbox', tick('Add the customer', typed.isNew !== ''))}
${field({
  ...control('contact', 'Contact of a new customer'),
  hint: 'Who calls, and how to reach them',
  attributes: { maxlength: CUSTOMER_CONTACT.max, autocomplete: 'off' },
})}
${select({ ...control('space', 'Space'), options })}
<div class="fields-row">${dateField({ ...control('date', 'Day'), required: true, earliest: today })}
${select({ ...control('startHour', 'Start'), options: HOUR_OPTIONS })}</div>
${repeatFields(typed, problems, today)}
<div class="fields-row">${field({ ...control('guests', 'Guests'), attributes: { inputmode: 'numeric' } })}
${
  amount &&
  field({
    ...control('eventFee', 'Price'),
    hint: 'Empty: as agreed, or the fee of the space',
    attributes: { inputmode: 'decimal', autocomplete: 'off' },
  })
}</div>
${textArea({ ...control('message', 'Note of the customer'), attributes: { maxlength: MESSAGE.max, rows: 2 } })}
${choices(
  { name: 'isAtShortNotice', label: 'Notice', problems },
  'checkbox',
  tick('Also sooner than the space has to be requested', typed.isAtShortNotice !== ''),
)}`;
}
