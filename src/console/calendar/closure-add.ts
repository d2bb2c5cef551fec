import { isPlainDate, localDate } from '../../domain/calendar.ts';
import { isRefusal, type Refusal } from '../../domain/decision.ts';
import { spaceId } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';
import { capitalised, counted } from '../../html/formats.ts';
import { html } from '../../html/html.ts';
import type { Flash } from '../../html/layout.ts';
import type { Answer, PageContent } from '../parts/answer.ts';
import { backTo, viaField } from '../parts/back-link.ts';
import { hasProblems, onceField, postForm, problemOf } from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import type { Problems } from '../parts/typed-form.ts';
import { type CommunityVisit, may } from '../parts/visit.ts';
import {
  type Concerned,
  cancelTicked,
  inTheWayFields,
  mostBookings,
  problemsOfCancelling,
} from './closure-bookings.ts';
import { closureFields, problemsInAddress, readClosure, type TypedClosure, typedIn } from './closure-form.ts';
import { CLOSURES, GOES_ON, inTime, keptText, WORD } from './closures.ts';

const PATH = `${CLOSURES}/new`;
const LABELS = { title: 'Title', from: 'First day', to: 'Last day' } as const;

type Wanted = ReturnType<typeof readClosure>['wanted'];

/** The form that closes times or adds an own event. Bookings that keep an own event from all of its days can be cancelled with it. */
export function closureAddPages({ community }: ConsoleRoutes, deps: PageDeps): void {
  const { commands, queries } = deps;

  community.get(PATH, 'Coordinator', async (visit) => {
    const spaces = await queries.spaces.list(visit.account);
    const typed = typedIn(visit.restored ?? visit.query);
    const isFresh = visit.restored === undefined && typed.spaces.length === 0 && typed.kind === 'Closure';
    const problems = visit.restored === undefined ? problemsInAddress(visit.query, spaces) : {};
    return addPage(visit, isFresh ? { ...typed, spaces: ['all'] } : typed, spaces, problems);
  });

  community.post(PATH, 'Coordinator', async (visit) => {
    const { account, context, form } = visit;
    const typed = typedIn(form);
    const { wanted, problems: ofFields } = readClosure(typed);
    if (hasProblems(ofFields)) return addPage(visit, typed, await queries.spaces.list(account), ofFields);
    const cancels = form.text('cancels') !== '';
    const problems = cancels ? await problemsOfCancelling(deps, visit, wanted) : {};
    if (hasProblems(problems)) return takenPage(visit, typed, wanted, problems);
    const cancelled = cancels ? await cancelTicked(deps, visit) : undefined;
    const outcome = await inTime(commands.closures.add({ ...wanted, communityId: account.id }, context));
    if (outcome === 'Working') return GOES_ON;
    if (!isRefusal(outcome)) return addedAnswer(visit, typed, outcome, cancelled?.flash);
    const page = await takenPage(visit, typed, wanted, problemsOf(outcome));
    return cancelled === undefined ? page : { ...page, flash: [cancelled.flash] };
  });

  /** The form again, with the bookings that are in the way of an own event. */
  async function takenPage(visit: CommunityVisit, typed: TypedClosure, wanted: Wanted, problems: Problems) {
    const { account, now, accountZone } = visit;
    const spaces = await queries.spaces.list(account);
    const { kind, from, to } = wanted;
    if (kind === 'Closure' || !isPlainDate(from) || !isPlainDate(to)) return addPage(visit, typed, spaces, problems);
    const spaceIds = wanted.spaceIds?.map(spaceId) ?? spaces.map((space) => space.spaceId);
    const asked = { ...wanted, from, to, communityId: account.id, spaceIds };
    const inTheWay = await queries.calendar.concerned(asked, localDate(now, accountZone), spaces, mostBookings(visit));
    return addPage(visit, typed, spaces, problems, inTheWay);
  }
}

type Added = Exclude<Awaited<ReturnType<PageDeps['commands']['closures']['add']>>, Refusal>;

function addedAnswer(
  visit: CommunityVisit,
  { kind }: TypedClosure,
  { closureId, days, skipped, bookings }: Added,
  cancelled: Flash | undefined,
): Answer {
  const parts = [
    `${capitalised(WORD[kind])} saved: ${counted(days, 'day')} of spaces.`,
    ...(skipped.length > 0
      ? [`${counted(skipped.length, 'day')} left out, as the hours are not free or the clocks skip them.`]
      : []),
    ...keptText(bookings.length),
  ];
  // Its page lists what was left out and what stays. Without these, the day that the form was opened from shows more.
  const isPlain = skipped.length === 0 && bookings.length === 0;
  const lines = [...(cancelled === undefined ? [] : [cancelled.text]), parts.join(' ')];
  const flash = { kind: cancelled?.kind ?? ('done' as const), text: lines.join('\n') };
  return { go: (isPlain && visit.via) || `${CLOSURES}/${closureId}`, flash };
}

/** The problems of a refused command. What concerns no single field is about the form as a whole. */
function problemsOf(refusal: Refusal): Problems {
  if (refusal.reason === 'NoWeekdayInRange') return { weekdays: 'None of these weekdays lies between the two dates.' };
  return refusal.refused === 'ValidationError' ? problemOf(refusal, LABELS) : { '': refusal.details };
}

function addPage(
  visit: CommunityVisit,
  typed: TypedClosure,
  spaces: readonly Space[],
  problems: Problems,
  inTheWay: Concerned = { first: [], count: 0 },
): PageContent {
  const isClosure = typed.kind === 'Closure';
  const content = html`${onceField()}${viaField(visit)}${closureFields(typed, spaces, problems)}
<div><button class="button">${isClosure ? 'Close' : 'Add own event'}</button></div>${
    inTheWay.count > 0 && inTheWayFields(visit, inTheWay, problems)
  }`;
  return {
    title: isClosure ? 'Close hours or days' : 'Add an own event',
    lead: isClosure
      ? 'It blocks new requests. Bookings that are there stay, and are listed afterwards.'
      : 'It takes free hours only. Days on which they are not free are left out, and listed afterwards.',
    back: backTo(visit, { href: CLOSURES, label: 'Closed times and own events' }),
    problems,
    main:
      spaces.length === 0
        ? emptyState(
            'space',
            'No spaces yet',
            may(visit, 'Manager') && buttonLink('/console/spaces/new', 'Add a space'),
          )`There must be a space first.`
        : postForm(visit, PATH, 'card fields narrow closure-form')`${content}`,
  };
}
