import { daysLater } from '../../domain/calendar.ts';
import { isRefusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { MAX_SERIES_DAYS, type SeriesDay, seriesDays } from '../../domain/series.ts';
import type { ClosedKind } from '../../domain/time-slots.ts';
import { counted, shortDate } from '../../html/formats.ts';
import { flag, type Html, html } from '../../html/html.ts';
import type { Queries } from '../../queries/queries.ts';
import { dateField, field, select } from './forms.ts';
import { readDate } from './typed-dates.ts';
import type { Form, Problems } from './typed-form.ts';

/** The fields of a form that repeat its day. */
export const REPEAT_FIELDS = ['every', 'until', 'days'] as const;
type TypedDays = Readonly<Record<(typeof REPEAT_FIELDS)[number], string>>;

/** The days of the form: the first one, its repetitions, and others that are written out. Each once, in their order. */
export function readDays(typed: TypedDays, first: PlainDate | undefined) {
  const others = typed.days.split(/[,;\n]+/).flatMap((text) => (text.trim() === '' ? [] : [text.trim()]));
  const read = others.map((text) => ({ text, ...readDate(text) }));
  const wrong = read.find(({ date }) => date === undefined);
  const every = typed.every === 'week' || typed.every === 'month' ? typed.every : undefined;
  const last = every === undefined ? undefined : typed.until === '' ? NO_LAST_DAY : readDate(typed.until);
  const series =
    first === undefined || every === undefined || last?.date === undefined
      ? first === undefined
        ? []
        : [{ date: first }]
      : seriesDays(first, every, last.date);
  const keyOf = (day: SeriesDay) => ('date' in day ? day.date : day.missing);
  const all = [...series, ...read.flatMap(({ date }) => (date === undefined ? [] : [{ date }]))];
  const days = [...new Map(all.map((day) => [keyOf(day), day])).entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, day]) => day);
  const isBackwards = first !== undefined && last?.date !== undefined && last.date < first;
  const problems: Problems = defined({
    until: last?.problem ?? (isBackwards ? 'The last day is before the first.' : undefined),
    days:
      wrong?.problem ?? (days.length > MAX_SERIES_DAYS ? `Choose at most ${MAX_SERIES_DAYS} days at once.` : undefined),
  });
  return { days, problems };
}

const NO_LAST_DAY = { date: undefined, problem: 'Choose the last day.' };

/** A day of a form, and why it is not free, if it is not. */
type CheckedDay = { readonly day: string; readonly date?: PlainDate; readonly why?: string };

type Wanted = Omit<Parameters<Queries['availability']>[0], 'date'> & {
  readonly days: readonly SeriesDay[];
  readonly startHour: number;
  /** Whether the notice of the space is waived. */
  readonly isAtShortNotice?: boolean | undefined;
};

/** Each day, with the reason if an event cannot start on it at the hour. @param whyOf the words for a reason */
export function checkedDays(
  { availability }: Pick<Queries, 'availability'>,
  { account, spaceId, days, startHour, isAtShortNotice }: Wanted,
  whyOf: (kind: ClosedKind) => string,
): Promise<readonly CheckedDay[]> {
  const each = days.map(async (day): Promise<CheckedDay> => {
    if (!('date' in day)) return { day: day.missing, why: 'there is no such day' };
    const { date } = day;
    const answer = await availability({ account, spaceId, date });
    if (isRefusal(answer)) return { day: shortDate(date), why: whyOf('Past') };
    const closed = answer.closed(startHour, { isAtShortNotice });
    return { day: shortDate(date), ...(closed === undefined ? { date } : { why: whyOf(closed) }) };
  });
  return Promise.all(each);
}

/** The days with a box for each that is free. @param choice the value of its box, what follows its date, and whether it is ticked */
export const dayChoices = (
  days: readonly CheckedDay[],
  choice: (date: PlainDate) => { readonly value: string; readonly note?: string; readonly isTicked: boolean },
): Html =>
  html`<ul class="choices" id="day">${days.map(({ day, date, why }) => {
    if (date === undefined) return html`<li><span class="muted">${day}: ${why}</span></li>`;
    const { value, note, isTicked } = choice(date);
    return html`<li><label class="choice"><input type="checkbox" name="day" value="${value}"${flag('checked', isTicked)}>
<span class="what">${day}${note !== undefined && `, ${note}`}</span></label></li>`;
  })}</ul>`;

export const TICK_ONE = 'Tick at least one day.';

/** Leads from the days back to the form that they were typed in. In the form of the days, so that no text is in an address. */
export const changeButton = html`<button class="button quiet" name="change" value="yes">Change</button>`;

export const isToBeChanged = (form: Form): boolean => form.text('change') !== '';

/** Refused days that a message names: it travels in a cookie of 4 KiB. */
const NAMED = 10;

/** `2 days not entered`, with the reasons. Empty if there are none. */
export const refusedText = (refused: readonly string[], verb: string): readonly string[] =>
  refused.length === 0
    ? []
    : [
        [`${counted(refused.length, 'day')} not ${verb}.`, ...refused.slice(0, NAMED)].join(' ') +
          (refused.length > NAMED ? ` And ${refused.length - NAMED} more.` : ''),
      ];

/** The fields that repeat the day. Closed unless something in them is typed: most bookings are on one day. */
export function repeatFields(typed: TypedDays, problems: Problems, today: PlainDate): Html {
  const isOpen = typed.every !== '' || typed.days !== '' || problems.until !== undefined || problems.days !== undefined;
  const repeat = select({
    name: 'every',
    label: 'Repeat',
    value: typed.every,
    problems,
    options: [
      { value: '', label: 'Not regularly' },
      { value: 'week', label: 'Every week' },
      { value: 'month', label: 'Every month' },
    ],
  });
  const earliest = daysLater(today, 1);
  const last = dateField({ name: 'until', label: 'Last day', value: typed.until, problems, earliest });
  return html`<details class="also"${isOpen && html` open`}>
<summary class="button quiet small">On several days…</summary>
<div class="fields-row">${repeat}${last}</div>
${field({
  name: 'days',
  label: 'Other days',
  value: typed.days,
  problems,
  hint: 'With commas: 4 Dec 2026, 11 Dec 2026',
  attributes: { autocomplete: 'off' },
})}</details>`;
}
