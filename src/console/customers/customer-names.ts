import { brandId, type CommunityId } from '../../domain/ids.ts';
import { shortened } from '../../html/formats.ts';
import { type Html, html, namedText } from '../../html/html.ts';
import type { Customer } from '../../queries/customers.ts';
import type { PageDeps } from '../parts/routes.ts';
import { idOf } from '../parts/typed-form.ts';

/** Names that the browser offers while one is typed. Customers beyond them are found all the same. */
const OFFERED = 1_000;
/** Customers that a problem names. */
const NAMED = 5;

type Queries = Pick<PageDeps['queries'], 'customers'>;

/** The id of the list that a field for a customer refers to. */
export const NAMES_LIST = 'customer-names';

/** The names of the customers, for a field in which one is typed. */
export async function namesList({ customers }: Queries, owner: CommunityId): Promise<Html> {
  const { customers: offered } = await customers.page(owner, { text: '', limit: OFFERED });
  return html`<datalist id="${NAMES_LIST}">${offered.map(({ name }) => html`<option value="${namedText(name)}"></option>`)}</datalist>`;
}

/** The customer that a text means: its number (`#12`), its name, or words that are in no other name. Or why none is meant. */
export async function customerIn(
  { customers }: Queries,
  owner: CommunityId,
  typed: string,
): Promise<Customer | { readonly problem: string; readonly isUnknown: boolean }> {
  const id = idOf(/^#(\d+)$/.exec(typed)?.[1]);
  if (id !== undefined) return (await customers.get(owner, brandId(id))) ?? unknown(typed);
  if (typed === '') return { problem: 'Type the name of a customer.', isUnknown: false };
  const called = await customers.called(owner, typed);
  const kept = called.filter(({ isKept }) => isKept);
  const [only, ...others] = kept.length > 0 ? kept : called;
  if (only !== undefined) return others.length === 0 ? only : several([only, ...others], false);
  const { customers: found, next } = await customers.page(owner, { text: typed, limit: NAMED });
  const [first, ...rest] = found;
  if (first === undefined) return unknown(typed);
  return rest.length === 0 ? first : several(found, next !== undefined);
}

const unknown = (typed: string) => ({
  problem: `There is no customer ‘${shortened(typed)}’. Tick “New customer” to add it.`,
  isUnknown: true,
});

function several(found: readonly Customer[], areMore: boolean) {
  const names = found.map(({ name, brandId }) => `${shortened(name)} (#${brandId})`).join(', ');
  return {
    problem: `Several customers are called like this: ${names}${areMore ? ' and others' : ''}.`,
    isUnknown: false,
  };
}
