import { KIND_LABELS, SPACE_DESCRIPTION_LABELS as LABELS } from '../../contract/description.ts';
import { type Changes, withChanges } from '../../domain/changed-values.ts';
import { isRefusal } from '../../domain/decision.ts';
import {
  AMENITIES,
  languageName,
  SHOWN_OF_SPACE,
  SPACE_KINDS,
  type SpaceDescription,
} from '../../domain/description.ts';
import { ABOUT, AREA, CAPACITY, MAX_OWN_AMENITIES, type NumberLimit, PRACTICAL_TEXT } from '../../domain/limits.ts';
import type { Space } from '../../domain/space.ts';
import { html, namedText } from '../../html/html.ts';
import { done, nothingToDo, type PageContent } from '../parts/answer.ts';
import { viaField, withVia } from '../parts/back-link.ts';
import { editedIn, outdatedProblems, seenField } from '../parts/described-form.ts';
import { amenityLabel } from '../parts/description-views.ts';
import { choices, controlsOf, field, postForm, problemOf, select, textArea } from '../parts/forms.ts';
import { type ConsoleRoutes, type PageDeps, spaceRoutes } from '../parts/routes.ts';
import { Form, type Problems } from '../parts/typed-form.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { PATH } from './space-list.ts';

export const descriptionPath = (spaceId: number): string => `${PATH}/${spaceId}/description`;

/** What brands read about a space, besides its terms. */
export function spaceDescriptionPages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  const ofSpace = spaceRoutes(community, queries);

  ofSpace.get(`${PATH}/:id/description`, 'Manager', async (visit, space) => {
    const current = await queries.descriptions.ofSpace(space);
    return editPage(visit, space, current, visit.restored ?? typedOf(current));
  });

  ofSpace.post(`${PATH}/:id/description`, 'Manager', async (visit, space) => {
    const { form, context } = visit;
    const { spaceId } = space;
    const current = await queries.descriptions.ofSpace(space);
    const { wanted, outdated } = editedIn(form, { typed: readIn(form), current, fields: SHOWN_OF_SPACE });
    if (outdated.length > 0)
      return {
        ...editPage(
          visit,
          space,
          current,
          typedOf(withChanges(current, wanted, SHOWN_OF_SPACE)),
          outdatedProblems(outdated, LABELS),
        ),
        status: 409,
      };
    const outcome = await commands.catalogue.describeSpace({ spaceId, wanted, seen: current }, context);
    if (isRefusal(outcome)) return editPage(visit, space, current, form, problemOf(outcome, LABELS, OWN_PROBLEMS));
    const back = withVia(visit, `${PATH}/${spaceId}`);
    return outcome.events.length > 0
      ? done(back, 'Saved. Brands see it now.')
      : nothingToDo(back, 'Nothing has changed.');
  });
}

const OWN_PROBLEMS = {
  languages: { field: 'languages', text: '“Languages spoken” must be languages such as English, German.' },
} as const;

function editPage(
  visit: CommunityVisit,
  space: Space,
  current: SpaceDescription,
  typed: Form,
  problems: Problems = {},
): PageContent {
  const control = controlsOf(typed, problems);
  const number = (name: 'seated' | 'standing' | 'area', limit: NumberLimit, hint?: string) =>
    field({
      hint,
      ...control(name, LABELS[name]),
      type: 'number',
      attributes: { ...limit, inputmode: 'numeric' },
    });
  const text = (name: 'about' | 'houseRules' | 'access', hint: string, { max }: { readonly max: number }) =>
    textArea({
      ...control(name, LABELS[name]),
      value: typed.lines(name),
      hint,
      attributes: { maxlength: max, rows: 6 },
    });
  const kinds = [
    { value: '', label: 'Not given' },
    ...SPACE_KINDS.map((kind) => ({ value: kind, label: KIND_LABELS[kind] })),
  ];
  const ticked = typed.all('amenities');
  const content = html`${viaField(visit)}${seenField(typed, current, SHOWN_OF_SPACE)}
<div class="fields-row">${select({ ...control('kind', LABELS.kind), options: kinds })}
${number('area', AREA, 'In m²')}</div>
<div class="fields-row">${number('seated', CAPACITY)}${number('standing', CAPACITY)}</div>
${text('about', 'Use **bold**, *italic*, lists with - and links.', ABOUT)}
${choices(
  { name: 'amenities', label: LABELS.amenities, problems },
  'checkbox',
  AMENITIES.map((value) => ({ value, label: amenityLabel(value), checked: ticked.includes(value) })),
)}
${textArea({
  ...control('ownAmenities', LABELS.ownAmenities),
  value: typed.lines('ownAmenities'),
  hint: `In your own words, one a line, at most ${MAX_OWN_AMENITIES}.`,
})}
${field({ ...control('languages', LABELS.languages), hint: 'Such as English, German' })}
${text('access', 'On which floor it is, and how guests get in.', PRACTICAL_TEXT)}
${text('houseRules', 'Music, smoking, waste, when guests must have left.', PRACTICAL_TEXT)}
<div><button class="button">Save</button></div>`;
  return {
    title: `Describe ${namedText(space.name)}`,
    lead: 'Brands see it where they choose a room. All of it is optional.',
    back: { href: withVia(visit, `${PATH}/${space.spaceId}`), label: namedText(space.name) },
    problems,
    main: postForm(visit, withVia(visit, descriptionPath(space.spaceId)), 'card fields narrow amenities')`${content}`,
  };
}

/** The form of a description as it is stored. */
function typedOf({ amenities = [], ownAmenities = [], languages = [], ...rest }: SpaceDescription): Form {
  const { kind = '', seated = '', standing = '', area = '', about = '', houseRules = '', access = '' } = rest;
  return new Form({
    kind,
    seated: String(seated),
    standing: String(standing),
    area: String(area),
    about,
    houseRules,
    access,
    amenities,
    ownAmenities: ownAmenities.join('\n'),
    languages: languages.map(languageName).join(', '),
  });
}

/** What a form says. What is no number becomes NaN, which the rules refuse. */
function readIn(form: Form): Changes<SpaceDescription> {
  const number = (name: string) => (form.text(name) === '' ? null : form.integer(name));
  const ticked = form.all('amenities');
  return {
    kind: SPACE_KINDS.find((kind) => kind === form.text('kind')) ?? null,
    seated: number('seated'),
    standing: number('standing'),
    area: number('area'),
    amenities: orNull(AMENITIES.filter((amenity) => ticked.includes(amenity))),
    ownAmenities: orNull(
      form
        .lines('ownAmenities')
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== ''),
    ),
    languages: orNull(
      form
        .text('languages')
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== '')
        .map(languageCode),
    ),
    about: form.lines('about') || null,
    houseRules: form.lines('houseRules') || null,
    access: form.lines('access') || null,
  };
}

const orNull = <T>(list: readonly T[]): readonly T[] | null => (list.length === 0 ? null : list);

let codes: ReadonlyMap<string, string> | undefined;

/** The code of a language that was typed by its English name, or as it was typed. */
function languageCode(typed: string): string {
  codes ??= new Map(languageCodes().map((code) => [languageName(code).toLowerCase(), code]));
  return codes.get(typed.toLowerCase()) ?? typed.toLowerCase();
}

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];
const languageCodes = (): string[] => LETTERS.flatMap((first) => LETTERS.map((second) => `${first}${second}`));
