import { isRefusal } from '../../domain/decision.ts';
import type { SpaceId } from '../../domain/ids.ts';
import { MAX_COMPARED } from '../../domain/limits.ts';
import type { Photo } from '../../domain/photos.ts';
import type { NamedSpace, Space } from '../../domain/space.ts';
import { counted, shortened } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { coverOf } from '../../html/photo-views.ts';
import { done, notDone } from '../parts/answer.ts';
import { backTo, listToReturnTo, returnFields, viaField } from '../parts/back-link.ts';
import { factsLine } from '../parts/description-views.ts';
import { hiddenField, postForm } from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { type ConsoleRoutes, type PageDeps, spaceRoutes } from '../parts/routes.ts';
import type { BrandVisit } from '../parts/visit.ts';
import { spacePath } from './space-path.ts';

export const SHORTLIST = '/console/find/shortlist';
export const COMPARE = '/console/find/compare';

/** The spaces that a user keeps to choose from. */
export function shortlistPages({ brand }: ConsoleRoutes, { queries, users }: PageDeps): void {
  brand.get(SHORTLIST, 'Viewer', async (visit) => {
    const ids = visit.user.shortlist ?? [];
    const found = await Promise.all(ids.map((id) => queries.spaces.getNamed(visit.account, id)));
    const spaces = found.filter((one) => one !== undefined);
    const photos = await queries.photos.ofSpaces(spaces.map(({ space }) => space.spaceId));
    return {
      title: 'Shortlist',
      lead: `${counted(spaces.length, 'space')}. Only you see this list.`,
      back: backTo(visit, { href: '/console/find', label: 'Find a space' }),
      main:
        spaces.length === 0
          ? emptyState(
              'star',
              'No spaces yet',
              buttonLink('/console/find', 'Find a space'),
            )`“Add to shortlist” on a space keeps it here.`
          : html`<ul class="finds">${spaces.map((one) => entry(visit, one, photos.get(one.space.spaceId) ?? []))}</ul>${compareForm()}`,
    };
  });

  spaceRoutes(brand, queries).post('/console/find/:id/shortlist', 'Viewer', async (visit, { spaceId, name }) => {
    const isWanted = visit.form.text('wanted') === 'yes';
    const outcome = await users.shortlist(visit.user.id, spaceId, isWanted, visit.context);
    const to = listToReturnTo(visit) ?? spacePath(spaceId, { via: visit.via });
    if (isRefusal(outcome)) return notDone(to, outcome.details);
    return done(to, `${shortened(name)} ${isWanted ? 'is on' : 'was taken off'} your shortlist.`);
  });
}

function entry(visit: BrandVisit, { space, communityName }: NamedSpace, photos: readonly Photo[]): Html {
  const facts = factsLine(space.facts);
  return html`<li class="find">${coverOf(space, photos, { sizes: '(width < 40rem) 92vw, 14rem' })}
<div class="what">
<h2><a href="${spacePath(space.spaceId, { via: SHORTLIST })}">${named(space.name)}</a></h2>
<p class="muted small">${named(communityName)}${facts !== '' && ` · ${facts}`}${!space.active && ' · takes no bookings'}</p>
<div class="row">${compareChoice(space)}${shortlistButton(visit, space, SHORTLIST)}</div></div></li>`;
}

/** The button that adds a space to the shortlist of the user, or takes it off. @param list the page to return to, if it is not that of the space */
export function shortlistButton(
  visit: BrandVisit,
  { spaceId, name }: Pick<Space, 'spaceId' | 'name'>,
  list?: string,
): Html {
  const isOn = isShortlisted(visit, spaceId);
  const label = isOn ? 'Take off shortlist' : 'Add to shortlist';
  return postForm(
    visit,
    `/console/find/${spaceId}/shortlist`,
  )`${list === undefined ? viaField(visit) : returnFields(list)}
${hiddenField('wanted', isOn ? 'no' : 'yes')}
<button class="button small quiet" aria-label="${label}: ${namedText(name)}">${label}</button>`;
}

const isShortlisted = ({ user }: BrandVisit, spaceId: SpaceId): boolean => user.shortlist?.includes(spaceId) ?? false;

const FORM = 'compare';

/** The box that chooses a space for the comparison. Belongs to {@link compareForm}. */
export const compareChoice = ({ spaceId, name }: Pick<Space, 'spaceId' | 'name'>): Html =>
  html`<label class="row compare"><input form="${FORM}" type="checkbox" name="space" value="${spaceId}"
aria-label="Compare ${namedText(name)}">Compare</label>`;

/** The form that compares the spaces that are chosen on a page. */
export const compareForm = (action = COMPARE): Html =>
  html`<form id="${FORM}" class="row" method="get" action="${action}"><button class="button quiet">Compare the chosen</button>
<span class="muted small">Two to ${String(MAX_COMPARED)} spaces</span></form>`;

/** The link to the shortlist, with the number of its spaces. */
export const shortlistLink = ({ user: { shortlist = [] } }: BrandVisit): Html =>
  buttonLink(SHORTLIST, `Shortlist (${shortlist.length})`, 'quiet');
