import { isRefusal } from '../../domain/decision.ts';
import { NAME } from '../../domain/limits.ts';
import type { Space } from '../../domain/space.ts';
import { html, namedText } from '../../html/html.ts';
import { done, type PageContent } from '../parts/answer.ts';
import { controlsOf, field, onceField, postForm, problemOf } from '../parts/forms.ts';
import { type ConsoleRoutes, type PageDeps, spaceRoutes } from '../parts/routes.ts';
import { Form, type Problems } from '../parts/typed-form.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { LABELS, PATH } from './space-list.ts';

export const duplicatePath = (spaceId: number): string => `${PATH}/${spaceId}/duplicate`;

/** Adds a space like another one, under a name of its own. */
export function duplicatePages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  const ofSpace = spaceRoutes(community, queries);

  ofSpace.get(`${PATH}/:id/duplicate`, 'Manager', (visit, space) =>
    duplicatePage(visit, space, visit.restored ?? new Form({})),
  );

  ofSpace.post(`${PATH}/:id/duplicate`, 'Manager', async (visit, space) => {
    const { form, context } = visit;
    const command = { spaceId: space.spaceId, name: form.text('name') };
    const outcome = await commands.catalogue.duplicateSpace(command, context);
    if (isRefusal(outcome)) return duplicatePage(visit, space, form, problemOf(outcome, LABELS));
    return done(`${PATH}/${outcome}`, `Space added, like ${namedText(space.name)}. Change here what differs.`);
  });
}

function duplicatePage(visit: CommunityVisit, space: Space, typed: Form, problems: Problems = {}): PageContent {
  const name = field({
    ...controlsOf(typed, problems)('name', LABELS.name),
    required: true,
    attributes: { maxlength: NAME.max, autocomplete: 'off' },
  });
  const content = html`${onceField()}${name}<div><button class="button">Add space</button></div>`;
  return {
    title: `Duplicate ${namedText(space.name)}`,
    lead: 'Adds a space with the same terms, hours and description, under a name of its own.',
    back: { href: `${PATH}/${space.spaceId}`, label: namedText(space.name) },
    problems,
    main: postForm(visit, duplicatePath(space.spaceId), 'card fields narrow')`${content}`,
  };
}
