import { WEEKDAYS, weekdayOf } from '../../domain/calendar.ts';
import { defined } from '../../domain/defined.ts';
import type { ClosureKind } from '../../domain/events.ts';
import { CLOSURE_TITLE } from '../../domain/limits.ts';
import type { Space } from '../../domain/space.ts';
import { clock, shortened } from '../../html/formats.ts';
import { type Html, html, namedText } from '../../html/html.ts';
import { choices, dateField, field, hasProblems, hiddenField, select } from '../parts/forms.ts';
import { readRange } from '../parts/typed-dates.ts';
import { type Form, idOf, NO_SUCH_SPACE, type Problems } from '../parts/typed-form.ts';

/** The form of a closed time or an own event as it is typed. */
export type TypedClosure = {
  readonly kind: ClosureKind;
  readonly title: string;
  readonly from: string;
  /** Empty: the same day as `from`. */
  readonly to: string;
  readonly start: string;
  readonly until: string;
  readonly weekdays: readonly string[];
  /** Ids, or `all`. */
  readonly spaces: readonly string[];
};

const ALL = 'all';

/** Reads the form, or the address that fills it in. */
export function typedIn(form: Form): TypedClosure {
  const kind = form.text('kind') === 'OwnEvent' ? 'OwnEvent' : 'Closure';
  const { start, until, ...rest } = form.texts(['title', 'from', 'to', 'start', 'until']);
  return {
    kind,
    ...rest,
    start: start || '0',
    until: until || '24',
    weekdays: form.all('weekdays'),
    spaces: form.all('spaces'),
  };
}

/** The problems of an address that fills in the form; none if it only chooses the kind. */
export function problemsInAddress(query: Form, spaces: readonly Space[]): Problems {
  const typed = typedIn(query);
  if (typed.from === '' && typed.spaces.length === 0) return {};
  const { from, to, start, until } = readClosure(typed).problems;
  const isOwn = (id: string) => id === ALL || spaces.some(({ spaceId }) => String(spaceId) === id);
  return {
    ...defined({ from: typed.from === '' ? undefined : from, to, start, until }),
    ...(typed.spaces.length > 0 && !typed.spaces.every(isOwn) && { spaces: NO_SUCH_SPACE }),
  };
}

/** What the form asks for, or what cannot be read. Own events on several dates repeat weekly on the day of the first one, unless days are ticked. */
export function readClosure(typed: TypedClosure) {
  const { kind, title } = typed;
  const { dates, problems } = readRange(typed);
  const from = dates.startDate ?? '';
  const to = dates.endDate ?? (typed.to === '' ? from : '');
  const ticked = WEEKDAYS.filter((day) => typed.weekdays.includes(day));
  const isWeekly = kind === 'OwnEvent' && ticked.length === 0 && from !== '' && to > from;
  const ofFirst = isWeekly ? [weekdayOf(from)] : [];
  const weekdays = [...ticked, ...ofFirst];
  const hours = hoursIn(typed);
  const allProblems: Problems = {
    ...(typed.from === '' && { from: 'Choose a date.' }),
    ...problems,
    ...hours.problems,
    ...(typed.spaces.length === 0 && { spaces: 'Choose at least one space.' }),
  };
  return {
    problems: allProblems,
    wanted: {
      kind,
      from,
      to,
      start: hours.start,
      until: hours.until,
      ...defined({
        title: title === '' ? undefined : title,
        weekdays: weekdays.length === 0 ? undefined : weekdays,
        spaceIds: typed.spaces.includes(ALL) ? undefined : typed.spaces.map(Number),
      }),
    },
  };
}

/** The hours that are typed. */
export function hoursIn({ start: from, until: to }: Pick<TypedClosure, 'start' | 'until'>) {
  const [start, until] = [Number(from), Number(to)];
  const problems: Problems = {
    ...(!isHour(from, 0) && { start: NO_HOUR }),
    ...(!isHour(to, 1) && { until: NO_HOUR }),
    ...(until <= start && { until: 'It must end after it begins.' }),
  };
  return { start, until, problems };
}

const NO_HOUR = 'Choose an hour.';

/** Whether the form offers an hour. */
const isHour = (text: string, first: 0 | 1): boolean => {
  const hour = idOf(text) ?? 0;
  return (text === '0' || hour > 0) && hour >= first && hour < first + 24;
};

export function titleField({ kind, title }: Pick<TypedClosure, 'kind' | 'title'>, problems: Problems): Html {
  return field({
    name: 'title',
    label: 'Title',
    value: title,
    problems,
    hint: `Such as “${kind === 'Closure' ? 'Christmas' : 'Choir'}”. Brands never see it.`,
    attributes: {
      maxlength: CLOSURE_TITLE.max,
      autocomplete: 'off',
      // With problems, their summary has the focus.
      ...(!hasProblems(problems) && { autofocus: '' }),
    },
  });
}

export function hourFields(typed: Pick<TypedClosure, 'start' | 'until'>, problems: Problems): Html {
  const hour = (name: 'start' | 'until', label: string, first: number) =>
    select({
      name,
      label,
      value: typed[name],
      problems,
      options: Array.from({ length: 24 }, (_, index) => ({
        value: String(first + index),
        label: clock(first + index),
      })),
    });
  return html`<div class="fields-row">${hour('start', 'From', 0)}${hour('until', 'To', 1)}</div>`;
}

/** The fields of the form, in the order in which people think of them. */
export function closureFields(typed: TypedClosure, spaces: readonly Space[], problems: Problems): Html {
  const { kind, from, to } = typed;
  const isClosure = kind === 'Closure';
  const ends = isClosure
    ? { label: 'Last day', hint: 'Empty: one day' }
    : { label: 'Repeat weekly until', hint: 'Empty: it does not repeat' };
  const first = dateField({
    name: 'from',
    label: isClosure ? 'First day' : 'Day',
    hint: 'Such as 24 Dec 2026',
    value: from,
    required: true,
    problems,
  });
  const last = dateField({ name: 'to', ...ends, value: to, problems });
  return html`${hiddenField('kind', kind)}${titleField(typed, problems)}
<div class="fields-row">${first}${last}</div>
${hourFields(typed, problems)}
${weekdayChoices(typed, problems)}${spaceChoices(typed, spaces, problems)}`;
}

const weekdayChoices = ({ kind, weekdays }: TypedClosure, problems: Problems): Html => {
  const hint = `None ticked: ${kind === 'Closure' ? 'every day' : 'the weekday of the first day'}`;
  const list = WEEKDAYS.map((day) => ({ value: day, label: day.slice(0, 3), checked: weekdays.includes(day) }));
  return choices({ name: 'weekdays', label: 'Weekdays', hint, problems }, 'checkbox', list);
};

function spaceChoices({ spaces: ticked }: TypedClosure, spaces: readonly Space[], problems: Problems): Html {
  const all = { value: ALL, label: `All spaces of today (${spaces.length})`, checked: ticked.includes(ALL) };
  const each = spaces.map(({ spaceId, name }) => {
    const value = String(spaceId);
    return { value, label: namedText(shortened(name)), checked: ticked.includes(value) };
  });
  // The space whose hours were clicked is in sight.
  const tickedFirst = each.toSorted((a, b) => Number(b.checked) - Number(a.checked));
  return choices({ name: 'spaces', label: 'Spaces', problems }, 'checkbox', [all, ...tickedFirst]);
}
