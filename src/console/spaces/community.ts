import type { Community, OpenBookings } from '../../domain/community.ts';
import { isRefusal } from '../../domain/decision.ts';
import type { CommunityFacts } from '../../domain/events.ts';
import type { CommunityId } from '../../domain/ids.ts';
import { NAME } from '../../domain/limits.ts';
import { shortDate } from '../../html/formats.ts';
import { html } from '../../html/html.ts';
import { type Answer, done, missing, nothingToDo, type PageContent } from '../parts/answer.ts';
import { field, hiddenField, postForm, problemOf } from '../parts/forms.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import type { Form, Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';
import { PATH as SPACES } from './space-list.ts';

const COMMUNITY_PATH = '/console/spaces/community';

const LABELS = { name: 'Name', timeZone: 'Time zone' } as const;
const CHANGED = 'It was changed by someone else in the meantime, and nothing was saved. Review and save again.';

/** The name and the time zone of a community. */
export function communityPages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  community.get(COMMUNITY_PATH, 'Manager', async (visit) => {
    const shown = await read(visit.account.id);
    if (shown === undefined) return missing('page');
    return editPage(visit, shown, visit.restored === undefined ? shown.current : factsIn(visit.restored));
  });

  community.post(COMMUNITY_PATH, 'Manager', async (visit): Promise<Answer> => {
    const { id: communityId } = visit.account;
    const [facts, seen] = [factsIn(visit.form), seenIn(visit.form)];
    const outcome = await commands.catalogue.changeCommunity({ communityId, facts, seen }, visit.context);
    if (!isRefusal(outcome))
      return outcome.events.length > 0 ? done(SPACES, 'Saved.') : nothingToDo(SPACES, 'Nothing has changed.');
    const shown = await read(communityId);
    if (shown === undefined) return missing('page');
    const isOutdated = seen.name !== shown.current.name || seen.timeZone !== shown.current.timeZone;
    if (isOutdated) return { ...editPage(visit, shown, facts, { '': CHANGED }), status: 409 };
    return editPage(visit, shown, facts, problemOf(outcome, LABELS));
  });

  async function read(id: CommunityId): Promise<Shown | undefined> {
    const [current, open] = await Promise.all([queries.spaces.community(id), commands.catalogue.openBookings(id)]);
    return current && { current, open };
  }
}

type Shown = { readonly current: Community; readonly open: OpenBookings | undefined };

const factsIn = (form: Form): CommunityFacts => form.texts(['name', 'timeZone']);

/** What the form was made from, to detect changes by others. A form without it is outdated. */
function seenIn(form: Form): CommunityFacts {
  try {
    const { name, timeZone }: Readonly<Record<string, unknown>> = Object(JSON.parse(form.text('seen')));
    return { name: String(name), timeZone: String(timeZone) };
  } catch {
    return { name: '', timeZone: '' };
  }
}

function editPage(visit: Visit, { current, open }: Shown, typed: CommunityFacts, problems: Problems = {}): PageContent {
  const control = (name: keyof typeof LABELS, hint: string, attributes: Readonly<Record<string, string | number>>) =>
    field({ name, label: LABELS[name], value: typed[name], required: true, hint, problems, attributes });
  const seen = JSON.stringify({ name: current.name, timeZone: current.timeZone });
  const content = html`${hiddenField('seen', seen)}
${control('name', 'Brands see it beside your spaces.', { maxlength: NAME.max, autocomplete: 'off' })}
${control('timeZone', zoneHint(open), { autocomplete: 'off', spellcheck: 'false' })}
<div><button class="button">Save</button></div>`;
  return {
    title: 'Name and time zone',
    back: { href: SPACES, label: 'Spaces' },
    problems,
    main: postForm(visit, COMMUNITY_PATH, 'card fields narrow')`${content}`,
  };
}

function zoneHint(open: OpenBookings | undefined): string {
  if (open === undefined)
    return 'Of all its spaces, such as Europe/Berlin. Closed times and own events keep their dates and hours, by the new clock.';
  const bookings = open.count === 1 ? '1 request or booking is' : `${open.count} requests and bookings are`;
  return `Of all its spaces. It cannot be changed while ${bookings} open, the last on ${shortDate(open.lastDate)}.`;
}
