import { isRefusal } from '../../domain/decision.ts';
import type { NewBrands } from '../../domain/events.ts';
import type { BrandId } from '../../domain/ids.ts';
import { type Html, html, named } from '../../html/html.ts';
import { MOST_TURNED_AWAY } from '../../queries/admissions.ts';
import { done, missing, notDone, nothingToDo } from '../parts/answer.ts';
import { choices, postForm } from '../parts/forms.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import type { Visit } from '../parts/visit.ts';
import { NEW_BRANDS_PATH, PATH as SPACES } from './space-list.ts';

const CHOICES: readonly { readonly value: NewBrands; readonly label: string; readonly hint: string }[] = [
  {
    value: 'askNothing',
    label: 'Their requests are like all others',
    hint: 'Every request can be approved at once.',
  },
  {
    value: 'wait',
    label: 'Their requests wait until a Manager lets the brand in',
    hint: 'Brands of which you have approved a booking before are let in.',
  },
];

/** What happens to requests of brands that a community does not know, and those that it has turned away. */
export function newBrandsPages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  community.get(NEW_BRANDS_PATH, 'Manager', async (visit) => {
    const [current, turnedAway] = await Promise.all([
      queries.spaces.community(visit.account.id),
      queries.admissions.turnedAway(visit.account.id),
    ]);
    if (current === undefined) return missing('page');
    const chosen = current.newBrands ?? 'askNothing';
    return {
      title: 'New brands',
      lead: 'Brands that you have not had here before.',
      back: { href: SPACES, label: 'Spaces' },
      main: html`${postForm(visit, NEW_BRANDS_PATH, 'card fields narrow')`${choices(
        { name: 'newBrands', label: 'Requests of new brands' },
        'radio',
        CHOICES.map((choice) => ({ ...choice, checked: choice.value === chosen })),
      )}<div><button class="button">Save</button></div>`}${turnedAway.length > 0 && turnedAwayView(visit, turnedAway)}`,
    };
  });

  community.post(NEW_BRANDS_PATH, 'Manager', async ({ account, form, context }) => {
    const newBrands = CHOICES.find(({ value }) => value === form.text('newBrands'))?.value;
    if (newBrands === undefined) return nothingToDo(NEW_BRANDS_PATH, 'Nothing has changed.');
    const outcome = await commands.admissions.changeNewBrands({ communityId: account.id, newBrands }, context);
    if (isRefusal(outcome)) return notDone(NEW_BRANDS_PATH, outcome.details);
    return outcome.events.length > 0
      ? done(NEW_BRANDS_PATH, 'Saved.')
      : nothingToDo(NEW_BRANDS_PATH, 'Nothing has changed.');
  });
}

/** The brands that were turned away last, to let them in after all. */
const turnedAwayView = (visit: Visit, brands: readonly { readonly brandId: BrandId; readonly name: string }[]): Html =>
  html`<section class="card narrow" aria-labelledby="turned-away"><h2 id="turned-away">Turned away</h2>
${brands.length === MOST_TURNED_AWAY && html`<p class="small muted">The latest ${MOST_TURNED_AWAY}.</p>`}
<ul class="stack" role="list">${brands.map(
    ({ brandId, name }) =>
      html`<li>${postForm(visit, `/console/brands/${brandId}/let-in`, 'row apart')`<span>${named(name)}</span>
<button class="button quiet small">Let in<span class="visually-hidden"> ${named(name)}</span></button>`}</li>`,
  )}</ul></section>`;
