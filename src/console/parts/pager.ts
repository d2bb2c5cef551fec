import { type Html, html } from '../../html/html.ts';
import { type Flash, icon } from '../../html/layout.ts';
import type { Form } from './visit.ts';

/** The addresses of the pages beside one page of a list. What is undefined does not exist. */
export type Neighbours = {
  readonly first?: string | undefined;
  readonly previous?: string | undefined;
  readonly next?: string | undefined;
};

/** Said of a list whose address names a place that cannot be one: nobody takes the first page for the one that was asked for. */
const NO_SUCH_PAGE: Flash = {
  kind: 'notice',
  text: 'The page that this address asks for is not there any more. This is the first page.',
};

const PLACES = ['after', 'before', 'skip'] as const;

/**
 * What to say above a list.
 * @param places what was read of the address; undefined what it does not name, or what cannot be a place
 */
export const noticeOf = (
  query: Form,
  places: { readonly [field in (typeof PLACES)[number]]?: object | number | string | undefined },
): readonly Flash[] =>
  PLACES.some((field) => query.text(field) !== '' && places[field] === undefined) ? [NO_SUCH_PAGE] : [];

/** What the links say, and what a screen reader calls them all. */
const WORDS = { label: 'Pages', first: 'First page', previous: 'Previous page', next: 'Next page' };

type Words = Partial<Readonly<typeof WORDS>> & {
  /** Which page this is, between the links. */
  readonly here?: string;
};

/** The links between the pages of a list: back by one, back to the first, and on. Nothing if none exists. */
export function pager({ first, previous, next }: Neighbours, words: Words = {}): Html | undefined {
  if ((first ?? previous ?? next) === undefined) return undefined;
  const said = { ...WORDS, ...words };
  const back =
    previous !== undefined &&
    html`<a class="button quiet" rel="prev" href="${previous}">${icon('back')} ${said.previous}</a>`;
  const backs =
    first === undefined
      ? back
      : html`<span class="row">${back}<a href="${first}">${!back && html`${icon('back')} `}${said.first}</a></span>`;
  const on =
    next !== undefined && html`<a class="button quiet" rel="next" href="${next}">${said.next} ${icon('next')}</a>`;
  // Each stays at its side where the other is missing.
  const nothing = html`<span></span>`;
  return html`<nav class="pager" aria-label="${said.label}">${backs || nothing}${
    said.here === undefined ? on : html`<span class="muted small">${said.here}</span>${on || nothing}`
  }</nav>`;
}
