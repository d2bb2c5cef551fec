import { HOUSE_DESCRIPTION_LABELS as LABELS } from '../../contract/description.ts';
import { isRefusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { NAME } from '../../domain/limits.ts';
import type { Space } from '../../domain/space.ts';
import type { SpaceGroup } from '../../domain/space-groups.ts';
import { html, named, namedText } from '../../html/html.ts';
import { done, missing, nothingToDo, type PageContent } from '../parts/answer.ts';
import { editedIn, outdatedProblems, seenField } from '../parts/described-form.ts';
import { postForm, problemOf } from '../parts/forms.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import { dataTable, labelledColumn, rowHeading } from '../parts/tables.ts';
import { Form, type Problems } from '../parts/typed-form.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { ORDER_PATH, PATH } from './space-list.ts';

const FIELDS = ['groups'] as const;

/** The spaces of a community in their order, and its groups as they are stored. */
type Order = { readonly spaces: readonly Space[]; readonly groups: readonly SpaceGroup[] | undefined };

/** The order of a community's spaces, and the groups that they are in. */
export function spaceOrderPages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  async function orderOf({ account }: CommunityVisit): Promise<Order> {
    const [spaces, owner] = await Promise.all([queries.spaces.list(account), queries.spaces.community(account.id)]);
    return { spaces, groups: owner?.house?.groups };
  }

  community.get(ORDER_PATH, 'Manager', async (visit) => {
    const order = await orderOf(visit);
    return order.spaces.length === 0 ? missing('page') : orderPage(visit, order, visit.restored ?? typedOf(order));
  });

  community.post(ORDER_PATH, 'Manager', async (visit) => {
    const { form, account, context } = visit;
    const order = await orderOf(visit);
    const groups = groupsIn(form, order.spaces);
    const { wanted, outdated } = editedIn(form, { typed: { groups }, current: order, fields: FIELDS });
    if (outdated.length > 0)
      return { ...orderPage(visit, order, typedIn(form, order.spaces), outdatedProblems([], LABELS)), status: 409 };
    const command = { communityId: account.id, wanted, seen: defined({ groups: order.groups }) };
    const outcome = await commands.catalogue.describeCommunity(command, context);
    if (isRefusal(outcome))
      return orderPage(visit, order, form, { '': Object.values(problemOf(outcome, LABELS)).join(' ') });
    return outcome.events.length > 0
      ? done(PATH, 'Saved. Your spaces are shown in this order.')
      : nothingToDo(PATH, 'Nothing has changed.');
  });
}

function orderPage(
  visit: CommunityVisit,
  { spaces, groups }: Order,
  typed: Form,
  problems: Problems = {},
): PageContent {
  const names = (groups ?? []).flatMap(({ name }) => name ?? []);
  const table = dataTable('Spaces in their order', spaces, [
    rowHeading('Space', 'long', ({ name }) => named(name)),
    labelledColumn(
      'Place',
      'nowrap',
      (
        space,
      ) => html`<input type="number" name="${placeOf(space)}" value="${typed.text(placeOf(space))}" min="0" max="9999"
aria-label="Place of ${namedText(space.name)}">`,
    ),
    labelledColumn(
      'Group',
      'long',
      (
        space,
      ) => html`<input name="${groupOf(space)}" value="${typed.text(groupOf(space))}" list="groups" maxlength="${NAME.max}"
dir="auto" autocomplete="off" aria-label="Group of ${namedText(space.name)}">`,
    ),
  ]);
  const content = html`${seenField(typed, { groups }, FIELDS)}${table}
<datalist id="groups">${names.map((name) => html`<option value="${name}"></option>`)}</datalist>
<div><button class="button">Save</button></div>`;
  return {
    title: 'Order and groups',
    lead: `Number your spaces in the order you want. Spaces with the same group, such as “Ground floor”, are shown together
below its name.`,
    back: { href: PATH, label: 'Spaces' },
    problems,
    main: postForm(visit, ORDER_PATH, 'fields')`${content}`,
  };
}

/** The form fields of a space. */
const placeOf = ({ spaceId }: Space): string => `place-${spaceId}`;
const groupOf = ({ spaceId }: Space): string => `group-${spaceId}`;

function typedOf({ spaces, groups = [] }: Order): Form {
  const nameOf = new Map(groups.flatMap(({ name = '', spaceIds }) => spaceIds.map((id) => [id, name])));
  return new Form(
    Object.fromEntries(
      spaces.flatMap((space, index) => [
        [placeOf(space), String(index + 1)],
        [groupOf(space), nameOf.get(space.spaceId) ?? ''],
      ]),
    ),
  );
}

/** What a form says of each space, without what its page had shown: it can be saved again. */
const typedIn = (form: Form, spaces: readonly Space[]): Form =>
  new Form(form.texts(spaces.flatMap((space) => [placeOf(space), groupOf(space)])));

/**
 * The groups that a form describes, in the order of their first spaces. Spaces with the same place stay in the order they had; those
 * without one come last.
 */
function groupsIn(form: Form, spaces: readonly Space[]): readonly SpaceGroup[] {
  const placed = spaces
    .map((space) => ({ space, place: form.integer(placeOf(space)) }))
    .sort((a, b) => orLast(a.place) - orLast(b.place));
  const byName = Map.groupBy(placed, ({ space }) => form.text(groupOf(space)));
  const groups = [...byName].map(([name, members]) => ({
    ...(name !== '' && { name }),
    spaceIds: members.map(({ space }) => space.spaceId),
  }));
  return isByDefault(groups) ? [] : groups;
}

/** Whether the groups say nothing: one without a name, by id, as spaces are shown anyway. */
const isByDefault = ([first, ...others]: readonly SpaceGroup[]): boolean =>
  first !== undefined &&
  others.length === 0 &&
  first.name === undefined &&
  first.spaceIds.every((id, index, ids) => index === 0 || id > (ids[index - 1] ?? 0));

const orLast = (place: number): number => (Number.isNaN(place) ? Number.MAX_SAFE_INTEGER : place);
