import { isRefusal } from '../../domain/decision.ts';
import { type BrandId, brandId } from '../../domain/ids.ts';
import { readQuestionKey } from '../../domain/question.ts';
import { counted } from '../../html/formats.ts';
import { html, named, namedText } from '../../html/html.ts';
import { type Answer, done, missing, notDone } from '../parts/answer.ts';
import { hiddenField, postForm } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { questionPath } from '../parts/question-links.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import { type Form, idOf } from '../parts/typed-form.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { brandPath } from './admission-forms.ts';
import { listField } from './decision-forms.ts';
import { inboxPath, listAt, listIn } from './request-list.ts';

/** Letting a brand in that is new to a community, or turning it away (docs/decisions/bookings.md#new-brands). */
export function admissionPages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  /** Only the brands that have sent the community a request or a question, or about which it has decided. */
  const about =
    (handler: (visit: CommunityVisit, brand: BrandId, name: string) => Promise<Answer>) =>
    async (visit: CommunityVisit): Promise<Answer> => {
      const id = idOf(visit.params.id);
      const name = id === undefined ? undefined : await queries.admissions.nameOfAsking(visit.account.id, brandId(id));
      return id === undefined || name === undefined ? missing('brand') : handler(visit, brandId(id), name);
    };

  community.post(
    '/console/brands/:id/let-in',
    'Manager',
    about(async (visit, brand, name) => {
      const { account, context } = visit;
      const outcome = await commands.admissions.admit({ communityId: account.id, brandId: brand }, context);
      if (isRefusal(outcome)) return notDone(withoutRow(placeOf(visit)), outcome.details);
      return done(placeOf(visit), `${namedText(name)} is let in. You can approve its requests.`);
    }),
  );

  community.get('/console/brands/:id/let-in', 'Manager', async (visit) => ({ go: placeOf(visit, visit.query) }));

  community.get(
    '/console/brands/:id/turn-away',
    'Manager',
    about(async (visit, brand, name) => ({
      title: 'Turn this brand away',
      heading: html`Turn ${named(name)} away?`,
      main: postForm(visit, brandPath(brand, 'turn-away'), 'card fields narrow')`${listField(listIn(visit.query))}
${hiddenField('booking', visit.query.text('booking'))}${hiddenField('question', visit.query.text('question'))}
<p>All of its requests to you are declined, and it can send no others and ask nothing. You can let it in later, under Spaces, New
brands.</p>
<div class="row"><button class="button danger">Turn away</button>${buttonLink(placeOf(visit, visit.query), 'Not yet', 'quiet')}</div>`,
    })),
  );

  community.post(
    '/console/brands/:id/turn-away',
    'Manager',
    about(async (visit, brand, name) => {
      const { account, context } = visit;
      const outcome = await commands.admissions.turnAway({ communityId: account.id, brandId: brand }, context);
      if (isRefusal(outcome)) return notDone(withoutRow(placeOf(visit)), outcome.details);
      const declined = outcome.cancelled === 0 ? '' : ` ${counted(outcome.cancelled, 'request')} declined.`;
      return done(placeOf(visit), `${namedText(name)} is turned away.${declined}`);
    }),
  );
}

/** Where a form leads back to: the list, the booking or the question that it was opened from, or the settings. */
function placeOf(visit: CommunityVisit, form: Form = visit.form): string {
  const question = readQuestionKey(form.text('question'));
  if (question !== undefined) return questionPath(question);
  const list = listIn(form);
  const booking = idOf(form.text('booking'));
  if (list !== undefined) {
    const path = inboxPath(listAt(list, visit));
    return booking === undefined ? path : `${path}#request-${booking}`;
  }
  return booking === undefined ? '/console/spaces/new-brands' : `/console/bookings/${booking}`;
}

/** The top of the page, where the message is that explains the problem. */
const withoutRow = (path: string): string => path.split('#', 1)[0] ?? path;
