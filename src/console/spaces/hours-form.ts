import { isPlainDate, WEEKDAYS } from '../../domain/calendar.ts';
import type { DayHours, SpaceTerms } from '../../domain/events.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { CANCEL_HOURS, GAP_HOURS, HORIZON_DAYS, HOUR, MAX_YEARS_AHEAD, NOTICE_HOURS } from '../../domain/limits.ts';
import { formatAmount, parseAmount } from '../../domain/pricing.ts';
import { datesFrom, type SeenTerms, type Space } from '../../domain/space.ts';
import { flag, type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { dateField, errorText, field, hiddenField } from '../parts/forms.ts';
import { readDate } from '../parts/typed-dates.ts';
import type { Form, Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';

/** The hours of a day as they are typed. */
type TypedHours = { readonly from: string; readonly to: string; readonly fee: string };
type TypedDay = TypedHours & { readonly open: boolean };
export type TypedDate = TypedHours & { readonly date: string };

export const RULES = {
  gapHours: 'Time between bookings',
  noticeHours: 'Notice',
  horizonDays: 'Days ahead',
  cancelHours: 'Cancellation deadline',
} as const;
type Rule = keyof typeof RULES;

/** The form of the hours of a space as it is typed. */
export type TypedTerms = {
  /** Monday first. */
  readonly days: readonly TypedDay[];
  readonly rules: Readonly<Record<Rule, string>>;
  readonly dates: readonly TypedDate[];
};

const HINTS: Readonly<Record<Rule, { readonly hint: string; readonly limit: typeof GAP_HOURS }>> = {
  gapHours: { hint: 'Hours to keep free before and after each booking, also beside own events', limit: GAP_HOURS },
  noticeHours: { hint: 'Hours before its start by which an event must be requested', limit: NOTICE_HOURS },
  horizonDays: { hint: `Days that can be booked from today on. Empty: ${MAX_YEARS_AHEAD} years.`, limit: HORIZON_DAYS },
  cancelHours: { hint: 'Hours before the start until which a brand may cancel', limit: CANCEL_HOURS },
};

/** The inputs of the hours of a day, by the field that each fills: the end of its name, and its label. */
export const HOURS_INPUTS = {
  windowStart: { suffix: 'From', label: 'From' },
  windowEnd: { suffix: 'To', label: 'To' },
  eventFee: { suffix: 'Fee', label: 'Own fee' },
} as const satisfies { readonly [F in keyof Required<DayHours>]: { readonly suffix: string; readonly label: string } };

const BLANK: TypedDate = { date: '', from: '', to: '', fee: '' };
/** Rows that “Add dates” adds. */
const MORE_ROWS = 3;

/** The form of the terms of a space, with the dates from today on. */
export function typedOf(space: SeenTerms, today: PlainDate): TypedTerms {
  const base = hoursIn(space);
  return {
    days: WEEKDAYS.map((_, day) => {
      const hours = space.week?.[day];
      if (hours === 'closed') return { ...base, fee: '', open: false };
      return { ...(hours === undefined ? { ...base, fee: '' } : hoursIn(hours)), open: true };
    }),
    rules: {
      gapHours: String(space.gapHours ?? 0),
      noticeHours: String(space.noticeHours ?? 0),
      horizonDays: (space.horizonDays ?? HORIZON_DAYS.max) === HORIZON_DAYS.max ? '' : String(space.horizonDays),
      cancelHours: String(space.cancelHours ?? 0),
    },
    dates: datesFrom(today, space).map(([date, hours]) => ({ date, ...hoursIn(hours) })),
  };
}

const hoursIn = ({ windowStart, windowEnd, eventFee }: DayHours): TypedHours => ({
  from: String(windowStart),
  to: String(windowEnd),
  fee: eventFee === undefined ? '' : formatAmount(eventFee),
});

/** Reads the form. Dates are in ISO 8601 where they can be read. */
export function typedIn(form: Form): TypedTerms {
  const rows = Math.min(form.integer('rows') || 0, 1_000);
  const hours = (name: string): TypedHours => ({
    from: form.text(`${name}From`),
    to: form.text(`${name}To`),
    fee: form.text(`${name}Fee`),
  });
  return {
    days: WEEKDAYS.map((_, day) => ({ open: form.text(`day${day}Open`) !== '', ...hours(`day${day}`) })),
    rules: form.texts(['gapHours', 'noticeHours', 'horizonDays', 'cancelHours']),
    dates: Array.from({ length: rows }, (_, row) => {
      const typed = form.text(`date${row}`);
      return { date: readDate(typed).date ?? typed, ...hours(`date${row}`) };
    }),
  };
}

/** What a button of the form does to it, and where the reader continues. Undefined if it saves. */
export function edited(typed: TypedTerms, button: string): [TypedTerms, FormOptions['focus']] | undefined {
  if (button === 'copy') return [withMondayCopied(typed), 'copy'];
  if (button === 'more') return [withMoreDates(typed), typed.dates.length];
  const removed = /^remove-(\d{1,4})$/.exec(button)?.[1];
  return removed === undefined ? undefined : [withoutDate(typed, Number(removed)), 'more'];
}

/** The same form with the hours of Monday on the other weekdays up to Friday. */
const withMondayCopied = (typed: TypedTerms): TypedTerms => ({
  ...typed,
  days: typed.days.map((day, index) => (index < 5 ? (typed.days[0] ?? day) : day)),
});

const withMoreDates = (typed: TypedTerms): TypedTerms => ({
  ...typed,
  dates: [...typed.dates, ...Array.from({ length: MORE_ROWS }, () => BLANK)],
});

/** @param row of the date to leave out */
const withoutDate = (typed: TypedTerms, row: number): TypedTerms => ({
  ...typed,
  dates: typed.dates.toSpliced(row, 1),
});

/** What the form asks for: each day as typed, and what cannot be read. */
export type ReadTerms = {
  readonly days: readonly (DayHours | 'closed')[];
  readonly rules: Pick<SpaceTerms, Rule>;
  readonly special: ReadonlyMap<PlainDate, DayHours>;
  readonly problems: Problems;
};

/** Parses what was typed. Anything that is not a number becomes NaN, which the domain's rules refuse. */
export function readTerms(typed: TypedTerms): ReadTerms {
  const problems: Record<string, string> = {};
  const hours = (name: string, { from, to, fee }: TypedHours): DayHours => {
    const eventFee = fee === '' ? undefined : parseAmount(fee);
    if (fee !== '' && eventFee === undefined) problems[`${name}Fee`] = 'Write an amount such as 1,234.50 or 1234.50.';
    const window = { windowStart: numberIn(from), windowEnd: numberIn(to) };
    return eventFee === undefined ? window : { ...window, eventFee };
  };
  const special = new Map<PlainDate, DayHours>();
  for (const [row, of] of typed.dates.entries()) {
    const { date, ...rest } = of;
    if (date === '' && rest.from === '' && rest.to === '' && rest.fee === '') continue;
    if (!isPlainDate(date)) problems[`date${row}`] = readDate(date).problem ?? 'Choose a date.';
    else if (special.has(date)) problems[`date${row}`] = 'This date is in the list twice.';
    else special.set(date, hours(`date${row}`, rest));
  }
  const { gapHours, noticeHours, horizonDays, cancelHours } = typed.rules;
  return {
    days: typed.days.map((day, index) => (day.open ? hours(`day${index}`, day) : 'closed')),
    rules: {
      gapHours: numberIn(gapHours),
      noticeHours: numberIn(noticeHours),
      cancelHours: numberIn(cancelHours),
      horizonDays: horizonDays === '' ? HORIZON_DAYS.max : numberIn(horizonDays),
    },
    special,
    problems,
  };
}

const numberIn = (text: string): number =>
  /^\d{1,12}(?:[.,]\d+)?$/.test(text) ? Number(text.replace(',', '.')) : Number.NaN;

export type FormOptions = {
  readonly visit: Pick<Visit, 'amount' | 'settings'>;
  readonly earliest: PlainDate;
  /** What the reader has just used, to continue there: the button that copies, the one that adds dates, or the row of a date. */
  readonly focus?: 'copy' | 'more' | number | undefined;
};

/** The fields of the form. The first button saves, so that the Enter key does too. */
export function hoursFields(
  space: Space,
  typed: TypedTerms,
  problems: Problems,
  { visit: { amount, settings }, earliest, focus }: FormOptions,
): Html {
  const fee = formatAmount(space.eventFee);
  return html`<button hidden name="do" value="save">Save</button>
<fieldset class="stack full"><legend><h2>Hours by weekday</h2></legend>
<p class="muted small">Events start from the first hour on and before the last, ${HOUR.min} to ${HOUR.max}. A day without a fee
of its own has the fee of the space${amount && `, ${amount(space.eventFee, settings.currency)}`}.</p>
<ul class="day-rows">${typed.days.map((day, index) => dayRow(index, day, fee, problems))}</ul>
<div><button class="button quiet small" name="do" value="copy"${flag('autofocus', focus === 'copy')}>
Copy Monday to Tuesday–Friday</button></div></fieldset>
${dateFields(typed, fee, problems, earliest, focus)}
<fieldset class="stack full"><legend><h2>Rules</h2></legend>
<div class="fields-row">${ruleFields(typed, problems)}</div></fieldset>`;
}

function dateFields(
  { dates }: TypedTerms,
  fee: string,
  problems: Problems,
  earliest: PlainDate,
  focus: FormOptions['focus'],
): Html {
  const rows = dates.length === 0 ? [BLANK] : dates;
  return html`<fieldset class="stack full"><legend><h2>Special dates</h2></legend>
<p class="muted small">Hours of one date, instead of those of its weekday. They may open a closed weekday.</p>
${hiddenField('rows', rows.length)}
<ul class="day-rows dates">${rows.map((row, index) => dateRow(index, row, fee, problems, earliest, focus === index))}</ul>
<div><button class="button quiet small" name="do" value="more"${flag('autofocus', focus === 'more')}>Add dates</button></div></fieldset>`;
}

const ruleFields = ({ rules }: TypedTerms, problems: Problems): readonly Html[] =>
  (['gapHours', 'noticeHours', 'horizonDays', 'cancelHours'] as const).map((name) => {
    const { hint, limit } = HINTS[name];
    const required = name !== 'horizonDays';
    const value = rules[name];
    return field({ name, label: RULES[name], value, required, problems, hint, type: 'number', attributes: limit });
  });

function dayRow(index: number, day: TypedDay, fee: string, problems: Problems): Html {
  const name = `day${index}`;
  const weekday = WEEKDAYS[index] ?? '';
  return html`<li><label class="day"><input type="checkbox" name="${name}Open" value="yes"${flag('checked', day.open)}>
<span>${weekday}<span class="visually-hidden"> is open</span></span></label>
${hoursCells(name, weekday, day, fee, problems)}</li>`;
}

function dateRow(
  index: number,
  row: TypedDate,
  fee: string,
  problems: Problems,
  earliest: PlainDate,
  isFocused: boolean,
): Html {
  const name = `date${index}`;
  const of = `date ${index + 1}`;
  const attributes = isFocused ? { autofocus: '' } : {};
  return html`<li>${dateField({ name, label: `Date ${index + 1}`, value: row.date, problems, earliest, attributes })}
${hoursCells(name, of, row, fee, problems)}
<button class="button quiet small" name="do" value="remove-${index}" aria-label="Remove ${of}">${icon('cancelled')} Remove</button></li>`;
}

/** @param of names the day, for screen readers */
const hoursCells = (day: string, of: string, { from, to, fee }: TypedHours, usual: string, problems: Problems): Html =>
  html`${cell(day, 'windowStart', of, from, problems, 'numeric')}${cell(day, 'windowEnd', of, to, problems, 'numeric')}
${cell(day, 'eventFee', of, fee, problems, 'decimal', usual)}`;

function cell(
  day: string,
  field: keyof typeof HOURS_INPUTS,
  of: string,
  value: string,
  problems: Problems,
  mode: 'numeric' | 'decimal',
  placeholder = '',
): Html {
  const { suffix, label } = HOURS_INPUTS[field];
  const name = `${day}${suffix}`;
  const problem = problems[name];
  const wrong = problem && html` aria-invalid="true" aria-describedby="${name}-error"`;
  return html`<div class="field"><label for="${name}"><span class="visually-hidden">${of}: </span>${label}</label>
<input id="${name}" name="${name}" value="${value}" inputmode="${mode}" autocomplete="off"${
    placeholder !== '' && html` placeholder="${placeholder}"`
  }${wrong}>${errorText(name, problem)}</div>`;
}
