import { AMENITY_LABELS, KIND_LABELS } from '../../contract/description.ts';
import { localMonth, monthsLater, WEEKDAYS } from '../../domain/calendar.ts';
import type { Community } from '../../domain/community.ts';
import { AMENITIES, SPACE_KINDS } from '../../domain/description.ts';
import { CAPACITY, SEARCH, SEARCHED_MONTHS_AHEAD } from '../../domain/limits.ts';
import { DEFAULT_WITHIN_KM, type SpaceOrder } from '../../domain/space-search.ts';
import { monthName } from '../../html/formats.ts';
import { flag, type Html, html, namedText } from '../../html/html.ts';
import { choices, controlsOf, dateField, field, HOUR_OPTIONS, type Option, select } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';
import { earliestDate, FIND_LABELS, type FindFilter, findPath, NARROWING, narrowed, without } from './find-filter.ts';

/** Distances that can be chosen, in kilometres. */
const DISTANCES = [2, 5, 10, DEFAULT_WITHIN_KM, 50, 100];
const SORTS: readonly { readonly value: Exclude<SpaceOrder, 'id'>; readonly label: string }[] = [
  { value: 'fit', label: 'Best fit for the guests' },
  { value: 'price', label: 'Price' },
  { value: 'rating', label: 'Rating' },
  { value: 'distance', label: 'Distance' },
];

const SEARCHED_TEXT = { maxlength: SEARCH.max, autocomplete: 'off' };

const any = (label: string): Option => ({ value: '', label });

type FormOf = Pick<Visit, 'query' | 'now' | 'amount'> & {
  /** Undefined if there are problems. */
  readonly filter: FindFilter | undefined;
  readonly communities: readonly Community[];
  readonly problems: Problems;
  readonly currency: string;
  /** Default: that of a brand. */
  readonly path?: string;
  /** Whether the spaces are those of one house, so that no place is asked for. */
  readonly isOwnHouse?: boolean;
};

/** The form of the search, which works as an address. */
export function filterForm(of: FormOf): Html {
  const { query, now, filter, problems, currency, amount, path, isOwnHouse = false } = of;
  const control = controlsOf(query, problems);
  const action = path ?? '/console/find';
  const date = query.text('month') === '' ? query.text('date') || (filter?.asked.dates?.[0] ?? '') : '';
  return html`<form class="card fields" method="get" action="${action}"><div class="find-filter">
${field({ ...control('guests', FIND_LABELS.guests), type: 'number', attributes: { min: 1, max: CAPACITY.max, inputmode: 'numeric' } })}
${
  !isOwnHouse &&
  field({
    ...control('place', FIND_LABELS.place),
    attributes: { ...SEARCHED_TEXT, placeholder: 'City, street, house' },
  })
}
${dateField({ ...control('date', FIND_LABELS.date), value: date, earliest: earliestDate(now) })}
${select({ ...control('hour', FIND_LABELS.hour), options: [any('Any start time'), ...HOUR_OPTIONS] })}
${
  amount &&
  field({
    ...control('max', `${FIND_LABELS.max} (${currency})`),
    attributes: { inputmode: 'decimal', autocomplete: 'off' },
  })
}
</div>${moreFields(of)}
<div class="row"><button class="button">Find spaces</button>${
    (filter === undefined || narrowed(filter.asked) > 0) &&
    buttonLink(filter === undefined ? action : findPath(without(filter, NARROWING), path), 'Clear filters', 'quiet')
  }</div></form>`;
}

const MORE = ['date2', 'date3', 'month', 'weekday', 'within', 'kind', 'community', 'name', 'amenity', 'sort'] as const;

/** The fields that are needed less often. Closed after a search, so that its results are in view. */
function moreFields({ query, now, communities, problems, amount, isOwnHouse = false }: FormOf): Html {
  const isOffered = (sort: SpaceOrder) =>
    !(sort === 'price' && amount === undefined) && !(sort === 'distance' && isOwnHouse);
  const sorts = SORTS.filter(({ value }) => isOffered(value));
  const control = controlsOf(query, problems);
  const used = MORE.filter((name) => query.text(name) !== '').length;
  const isOpen = MORE.some((name) => problems[name] !== undefined);
  const names = communities.map(({ communityId, name }) => ({ value: String(communityId), label: namedText(name) }));
  const kinds = SPACE_KINDS.map((kind) => ({ value: kind, label: KIND_LABELS[kind] }));
  const first = localMonth(now, 'UTC');
  const months = Array.from({ length: SEARCHED_MONTHS_AHEAD }, (_, at) => monthsLater(first, at));
  const ticked = query.all('amenity');
  return html`<details class="find-more"${flag('open', isOpen)}>
<summary>More${used > 0 && ` (${used} in use)`}: other dates, any Saturday in a month, kind, amenities, order</summary>
<div class="find-filter">
${dateField({ ...control('date2', FIND_LABELS.date2), earliest: earliestDate(now) })}
${dateField({ ...control('date3', FIND_LABELS.date3), earliest: earliestDate(now) })}
${select({
  ...control('month', FIND_LABELS.month),
  options: [any('No month'), ...months.map((month) => ({ value: month, label: monthName(month) }))],
})}
${select({
  ...control('weekday', FIND_LABELS.weekday),
  options: [any('Any day of the week'), ...WEEKDAYS.map((day) => ({ value: day, label: `${day}s` }))],
})}
${select({ ...control('kind', FIND_LABELS.kind), options: [any('Any kind'), ...kinds] })}
${names.length > 0 && select({ ...control('community', FIND_LABELS.community), options: [any('Any community'), ...names] })}
${field({ ...control('name', FIND_LABELS.name), attributes: SEARCHED_TEXT })}
${
  !isOwnHouse &&
  select({
    ...control('within', FIND_LABELS.within),
    hint: 'With coordinates as the place, such as 52.52, 13.40',
    options: [any(`${DEFAULT_WITHIN_KM} km`), ...DISTANCES.map((km) => ({ value: String(km), label: `${km} km` }))],
  })
}
${select({ ...control('sort', FIND_LABELS.sort), options: [any('Best fit, or nearest'), ...sorts] })}
</div>${choices(
    { name: 'amenity', label: FIND_LABELS.amenity, problems },
    'checkbox',
    AMENITIES.map((value) => ({ value, label: AMENITY_LABELS[value], checked: ticked.includes(value) })),
  )}</details>`;
}
