import { type Html, html, type Interpolated } from '../../html/html.ts';
import { type Flash, icon } from '../../html/layout.ts';
import type { Link } from './answer.ts';
import type { Form } from './typed-form.ts';

/** The page of calendar feeds, to which the calendar links, too. */
export const FEEDS = '/console/feeds';

/** The form with which a community enters a booking of a customer, to which the calendar links, too. */
export const ENTER = '/console/bookings/enter';

/** The search of a community among its own spaces, which leads to that form. */
export const FREE_TIMES = '/console/bookings/free';

/** The customers of a community, and the page of one. */
export const CUSTOMERS = '/console/customers';
export const customerPath = (id: number | string): string => `${CUSTOMERS}/${id}`;

/** The fields of a query string. */
export type Fields = Readonly<Record<string, string | undefined>>;

/** The fields that have a value, as a query string without a question mark. */
export const queryOf = (fields: Fields): string =>
  new URLSearchParams(Object.entries(fields).flatMap(([name, value]) => (value ? [[name, value]] : []))).toString();

/** The address of a page with the fields that have a value. */
export function addressOf(path: string, fields: Fields): string {
  const query = queryOf(fields);
  return query === '' ? path : `${path}?${query}`;
}

/** A link in a list of links, marked if it is the current page. */
export const linkItem = (href: string, label: Interpolated, current: false | 'page' | 'date' = false): Html =>
  html`<li><a href="${href}"${current && html` aria-current="${current}"`}>${label}</a></li>`;

/** Tabs between views of one list, with the current one marked. */
export const tabs = (
  label: string,
  list: readonly { readonly label: Interpolated; readonly href: string; readonly current: boolean }[],
): Html =>
  html`<nav aria-label="${label}"><ul class="tabs">${list.map((tab) => linkItem(tab.href, tab.label, tab.current && 'page'))}</ul></nav>`;

/** The links to the month or day before and after, beside a heading. False beyond the end of the calendar. */
export const neighbours = (label: string, before: Link | false, after: Link | false, between?: Html): Html =>
  html`<nav class="row" aria-label="${label}">
${before && html`<a class="button quiet" href="${before.href}">${icon('back')} ${before.label}</a>`}
${between}${after && html`<a class="button quiet" href="${after.href}">${after.label} ${icon('next')}</a>`}</nav>`;

const NO_SUCH_PAGE: Flash = {
  kind: 'notice',
  text: 'The page that this address asks for is not there any more. This is the first page.',
};

const CURSORS = ['after', 'before', 'skip'] as const;

/**
 * The message above a list whose address has an invalid cursor.
 * @param cursors what was read from the address; undefined where it has no cursor, or a wrong one
 */
export const noticeOf = (
  query: Form,
  cursors: { readonly [field in (typeof CURSORS)[number]]?: object | number | string | undefined },
): readonly Flash[] =>
  CURSORS.some((field) => query.text(field) !== '' && cursors[field] === undefined) ? [NO_SUCH_PAGE] : [];

/** The addresses of the pages beside one page of a list, undefined where there is none. */
type Neighbours = {
  readonly first?: string | undefined;
  readonly previous?: string | undefined;
  readonly next?: string | undefined;
};

const LABELS = { label: 'Pages', first: 'First page', previous: 'Previous page', next: 'Next page' };

/** The labels of the links, and of their group for screen readers. `here`: which page this is. */
type Labels = Partial<Readonly<typeof LABELS>> & { readonly here?: string };

/** The links between the pages of a list. Undefined if there is only one page. */
export function pager({ first, previous, next }: Neighbours, labels: Labels = {}): Html | undefined {
  if ((first ?? previous ?? next) === undefined) return undefined;
  const text = { ...LABELS, ...labels };
  return html`<nav class="pager" aria-label="${text.label}"><span class="row">${
    previous && html`<a class="button quiet" rel="prev" href="${previous}">${icon('back')} ${text.previous}</a>`
  }${first && html`<a href="${first}">${!previous && html`${icon('back')} `}${text.first}</a>`}</span>${
    labels.here && html`<span class="muted small">${labels.here}</span>`
  }<span>${next && html`<a class="button quiet" rel="next" href="${next}">${text.next} ${icon('next')}</a>`}</span></nav>`;
}

/**
 * The links to the pages beside one page of a list whose cursors are in its address.
 * @param fields the filter, which they keep
 * @param onward the field of the cursor of the next page: `before` in a list with the newest first
 */
export const cursorPager = (
  path: string,
  fields: Fields,
  { previous, next }: { readonly previous?: string | undefined; readonly next?: string | undefined },
  onward: 'after' | 'before',
): Html | undefined =>
  pager({
    first: previous && addressOf(path, fields),
    previous: previous && addressOf(path, { ...fields, [onward === 'after' ? 'before' : 'after']: previous }),
    next: next && addressOf(path, { ...fields, [onward]: next }),
  });
