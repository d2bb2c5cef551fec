import { isRefusal, sentenceWith } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { PHOTO_ALT } from '../../domain/limits.ts';
import { MAX_PHOTOS, type Photo, type PhotoOwner, type Photos, photosIn } from '../../domain/photos.ts';
import { counted } from '../../html/formats.ts';
import { type Html, html, namedText } from '../../html/html.ts';
import { photoImage } from '../../html/photo-views.ts';
import { type Answer, done, type Link, nothingToDo, type PageContent } from '../parts/answer.ts';
import { viaField, withVia } from '../parts/back-link.ts';
import { editedIn, outdatedProblems, seenField } from '../parts/described-form.ts';
import { csrfField, errorText, hiddenField, postForm, problemOf } from '../parts/forms.ts';
import { type ConsoleRoutes, type PageDeps, spaceRoutes } from '../parts/routes.ts';
import { Form, type Problems } from '../parts/typed-form.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { PATH, photosPath } from './space-list.ts';

type Added = Exclude<Awaited<ReturnType<PageDeps['commands']['photos']['add']>>, { readonly refused: string }>;

/** Whose photos a page shows. */
type Place = { readonly of: PhotoOwner; readonly path: string; readonly title: string; readonly back: Link };

type Room = { readonly spaceId: number; readonly name: string };

const roomPlace = (visit: CommunityVisit, { spaceId, name }: Room): Place => ({
  of: { kind: 'space', id: spaceId },
  path: withVia(visit, photosPath(spaceId)),
  title: `Photos of ${namedText(name)}`,
  back: { href: withVia(visit, `${PATH}/${spaceId}`), label: namedText(name) },
});

const housePlace = ({ account }: CommunityVisit): Place => ({
  of: { kind: 'house', id: account.id },
  path: photosPath('house'),
  title: 'Photos of the house',
  back: { href: PATH, label: 'Spaces' },
});

/** The photos of each space, and of the house. */
export function photoPages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  const ofSpace = spaceRoutes(community, queries);
  const [room, house] = [`${PATH}/:id/photos`, photosPath('house')];

  const page = async (visit: CommunityVisit, place: Place, problems: Problems = {}): Promise<PageContent> => {
    const list = await queries.photos.listOf(place.of);
    return photosPage(visit, place, list, visit.restored ?? typedOf(list), problems);
  };

  async function upload(visit: CommunityVisit, place: Place): Promise<Answer> {
    const files = visit.form.files('photo').map((bytes) => ({ bytes }));
    if (files.every(({ bytes }) => bytes.length === 0)) return page(visit, place, { photo: 'Choose a photo.' });
    const outcome = await commands.photos.add(place.of, files, visit.context);
    if (isRefusal(outcome)) return page(visit, place, { photo: outcome.details });
    const { added, problems } = outcome;
    if (problems.length > 0) return page(visit, place, { photo: sentencesOf(problems, files.length) });
    return done(place.path, `${counted(added.length, 'photo')} added.`);
  }

  async function arrange(visit: CommunityVisit, place: Place): Promise<Answer> {
    const { form, context } = visit;
    const list = await queries.photos.listOf(place.of);
    const [typed, current] = [readIn(form), shownOf(list)];
    const { wanted, outdated } = editedIn(form, { typed, current, fields: keysOf(typed) });
    const conflict = async (): Promise<Answer> => {
      const latest = await queries.photos.listOf(place.of);
      const merged = typedOf(latest, wanted);
      return { ...photosPage(visit, place, latest, merged, outdatedProblems([], {})), status: 409 };
    };
    if (outdated.length > 0) return conflict();
    const { order = current.order } = wanted;
    const arrange = order.map((photo) => ({ photo, ...defined({ alt: wanted[altField(photo)] }) }));
    const outcome = await commands.photos.arrange(place.of, { arrange, seen: list.changes }, context);
    if (isRefusal(outcome)) {
      if (outcome.field === 'photos') return conflict();
      const problems = { '': Object.values(problemOf(outcome, { alt: 'What a photo shows' })).join(' ') };
      return photosPage(visit, place, list, form, problems);
    }
    return outcome.events.length > 0
      ? done(place.path, 'Saved. Brands see it now.')
      : nothingToDo(place.path, 'Nothing has changed.');
  }

  ofSpace.get(room, 'Manager', (visit, space) => page(visit, roomPlace(visit, space)));
  ofSpace.upload(room, 'Manager', (visit, space) => upload(visit, roomPlace(visit, space)));
  ofSpace.post(`${room}/order`, 'Manager', (visit, space) => arrange(visit, roomPlace(visit, space)));
  community.get(house, 'Manager', (visit) => page(visit, housePlace(visit)));
  community.upload(house, 'Manager', (visit) => upload(visit, housePlace(visit)));
  community.post(`${house}/order`, 'Manager', (visit) => arrange(visit, housePlace(visit)));
}

const sentencesOf = (problems: Added['problems'], files: number): string =>
  problems
    .map(({ index, refusal }) => sentenceWith(refusal, () => (files === 1 ? 'This photo' : `Photo ${index + 1}`)))
    .join(' ');

type AltField = `alt-${string}`;
const altField = (photo: string): AltField => `alt-${photo}`;

/** What the form about a list shows: the order of the photos, and the text about each. */
type Shown = { readonly order: readonly string[]; readonly [alt: AltField]: string };

const shownOf = (list: Photos<string>): Shown => ({
  order: list.photos.map(({ photo }) => photo),
  ...Object.fromEntries(photosIn(list).map(({ photo, alt = '' }) => [altField(photo), alt])),
});

function readIn(form: Form): Shown {
  const photos = form.all('photo');
  const alts = form.all('alt').map((alt) => alt.trim());
  return {
    order: moved(photos, form.text('do')),
    ...Object.fromEntries(photos.map((photo, index) => [altField(photo), alts[index] ?? ''])),
  };
}

/** The form about a list as it is stored, with the texts that were typed. */
function typedOf(list: Photos<string>, typed: Partial<Shown> = {}): Form {
  const shown = { ...shownOf(list), ...defined(typed) };
  const { order } = shownOf(list);
  return new Form({ photo: order, alt: order.map((photo) => shown[altField(photo)] ?? '') });
}

/** @param step `earlier:NAME`, `later:NAME`, `remove:NAME`, or empty */
function moved(photos: readonly string[], step: string): readonly string[] {
  const [what, name = ''] = step.split(':');
  const at = photos.indexOf(name);
  if (at === -1) return photos;
  const others = photos.toSpliced(at, 1);
  if (what === 'remove') return others;
  return others.toSpliced(Math.max(0, at + (what === 'earlier' ? -1 : 1)), 0, name);
}

function photosPage(
  visit: CommunityVisit,
  place: Place,
  list: Photos<string>,
  typed: Form,
  problems: Problems,
): PageContent {
  const { photos } = list;
  const most = MAX_PHOTOS[place.of.kind];
  return {
    title: place.title,
    lead: `Brands choose by them. The first one is shown in lists. At most ${most}.`,
    back: place.back,
    problems,
    main: html`${photos.length < most && uploadForm(visit, place, problems)}
<div id="photos">${photos.length > 0 && orderForm(visit, place, list, typed)}</div>`,
  };
}

/** With JavaScript, `photos.js` sends one photo after another, and shows how far it is. */
function uploadForm(visit: CommunityVisit, { path }: Place, problems: Problems): Html {
  const problem = problems.photo;
  return html`<form class="card fields narrow" id="upload" method="post" action="${path}" enctype="multipart/form-data">
${csrfField(visit)}${viaField(visit)}<div class="field"><label for="photo">Add photos</label>
<p class="hint" id="photo-hint">JPEG, PNG, WebP or AVIF, at most 8 MB and 50 megapixels each. Places and times that a camera notes in
the file are removed.</p>
<input id="photo" name="photo" type="file" accept="image/jpeg,image/png,image/webp,image/avif" multiple required
aria-describedby="photo-hint${problem !== undefined && ' photo-error'}"${problem !== undefined && html` aria-invalid="true"`}>
${errorText('photo', problem)}</div>
<div class="stack tight"><div role="status"><ul class="uploads stack tight"></ul></div>
<div><button class="button">Upload</button></div></div></form>`;
}

function orderForm(visit: CommunityVisit, { path }: Place, list: Photos<string>, typed: Form): Html {
  const [address = '', query] = path.split('?');
  const current = shownOf(list);
  const texts = readIn(typed);
  const items = list.photos.map((photo, index) => {
    const field = altField(photo.photo);
    const stored = current[field] ?? '';
    const alt = texts[field] ?? stored;
    return photoItem({ ...photo, alt, isTyped: alt !== stored }, index, list.photos.length);
  });
  const content = html`${seenField(typed, current, keysOf(current))}
<div class="row apart"><h2>Order and descriptions</h2><button class="button">Save</button></div>
<p class="hint">Say in a few words what each photo shows: people who do not see it hear that. Drag photos
to order them, or use the buttons.</p>
<ol class="photo-list">${items}</ol>`;
  return postForm(visit, `${address}/order${query === undefined ? '' : `?${query}`}`, 'card fields')`${content}`;
}

/** `isTyped`: whether the text about it is not stored yet. */
type ShownPhoto = Photo & { readonly isTyped: boolean };

function photoItem(photo: ShownPhoto, index: number, count: number): Html {
  const number = index + 1;
  const step = (what: 'earlier' | 'later' | 'remove', label: string) =>
    html`<button class="button quiet small" name="do" value="${what}:${photo.photo}">${label}<span
class="visually-hidden"> photo ${number}</span></button>`;
  return html`<li class="photo-item">${hiddenField('photo', photo.photo)}${photoImage(photo, { sizes: '16rem' })}
<div class="stack tight">${altInput(photo, number)}
<div class="row">${index > 0 && step('earlier', 'Earlier')}${index < count - 1 && step('later', 'Later')}
${step('remove', 'Remove')}</div></div></li>`;
}

const altInput = ({ photo, alt = '', isTyped }: ShownPhoto, number: number): Html =>
  html`<div class="field"><label for="alt-${photo}">What photo ${number} shows</label>
<input id="alt-${photo}" name="alt" type="text" dir="auto" value="${alt}" maxlength="${PHOTO_ALT.max}"
autocomplete="off"${isTyped && html` data-typed`}></div>`;
