import { hasLength, SEARCH } from '../../domain/limits.ts';
import { folded, isCalled, wordsOf } from '../../domain/searched-text.ts';
import type { Space } from '../../domain/space.ts';
import { counted } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { field, hasProblems } from './forms.ts';
import { emptyState } from './frame.ts';
import { addressOf, pager } from './links.ts';
import type { Form, Problems } from './typed-form.ts';

/** Spaces that are shown together. */
type Group<S> = { readonly name?: string; readonly spaces: readonly S[] };

/** Spaces on a page of a list. */
const SPACES_PER_PAGE = 48;

type Named = Pick<Space, 'name' | 'active'>;

/** A page of the spaces of a house, in their groups, of those whose names have the words of the query. */
export function spacePage<S extends Named>(groups: readonly Group<S>[], query: Form) {
  const text = query.text('q');
  const problems: Problems = hasLength(text, SEARCH) ? {} : { q: `Search for at most ${SEARCH.max} characters.` };
  const words = wordsOf(text);
  const isFound = ({ name }: S) => text === '' || isCalled([folded(name)], words);
  const matching = groups.flatMap((group) => group.spaces.filter(isFound).map((space) => ({ group, space })));
  const last = Math.max(1, Math.ceil(matching.length / SPACES_PER_PAGE));
  const typed = query.integer('page');
  const page = typed >= 1 ? Math.min(typed, last) : 1;
  const shown = matching.slice((page - 1) * SPACES_PER_PAGE, page * SPACES_PER_PAGE);
  const together = Map.groupBy(shown, ({ group }) => group);
  return {
    /** How many there are, whatever the query says. */
    total: groups.reduce((sum, { spaces }) => sum + spaces.length, 0),
    text,
    problems,
    page,
    last,
    matching: matching.map(({ space }) => space),
    /** Those of the page. */
    groups: Array.from(together, ([{ name }, members]) => ({ name, spaces: members.map(({ space }) => space) })),
  };
}

export type SpacePage<S extends Named> = ReturnType<typeof spacePage<S>>;

type Shown = Omit<SpacePage<Named>, 'groups'>;

/** A list that has a search once it has more than a page. */
export const searchedSpaces = (path: string, shown: Shown, list: Html): Html =>
  shown.total > SPACES_PER_PAGE ? html`${searchForm(path, shown)}${pageWith(path, shown, list)}` : list;

/** A list that always has a search. @param path of the list @param list the spaces of the page */
export const spacesWithSearch = (path: string, shown: Shown, list: Html): Html =>
  html`${searchForm(path, shown)}${pageWith(path, shown, list)}`;

const searchForm = (path: string, { text, problems }: Shown): Html =>
  html`<form class="search short" method="get" action="${path}" role="search" aria-label="Spaces">
${field({ name: 'q', label: 'Name contains', value: text, problems, attributes: { autocomplete: 'off', spellcheck: 'false' } })}
<button class="button">${icon('search')} Search</button>
</form>`;

/** How many spaces were found, those of the page, and the way to the pages beside it. False if the search is wrong. */
function pageWith(path: string, { text, problems, matching, page, last }: Shown, list: Html): Html | false {
  if (hasProblems(problems)) return false;
  const all = html`<a class="on-screen" href="${path}">Show all spaces</a>`;
  if (matching.length === 0) return emptyState('search', 'Nothing found', all)`No spaces match ‘${named(text)}’.`;
  const closed = matching.filter(({ active }) => !active).length;
  const results = text !== '' && html`Results for ‘${named(text)}’: `;
  const count = html`${results}${counted(matching.length, 'space')}${closed > 0 && `, ${closed} of them closed`}.`;
  const to = (wanted: number) => addressOf(path, { q: text, page: wanted > 1 ? String(wanted) : undefined });
  return html`<p class="muted">${count} ${text !== '' && all}</p>${list}
${pager(
  { previous: page > 1 ? to(page - 1) : undefined, next: page < last ? to(page + 1) : undefined },
  { previous: `Page ${page - 1}`, here: `Page ${page} of ${last}`, next: `Page ${page + 1}` },
)}`;
}
