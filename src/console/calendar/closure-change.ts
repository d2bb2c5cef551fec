import type { ReadableClosure } from '../../../projections/closures.ts';
import { isRefusal, type Refusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { ERASED } from '../../domain/personal-text.ts';
import { counted } from '../../html/formats.ts';
import { html } from '../../html/html.ts';
import { type Answer, done, missing, nothingToDo, type PageContent } from '../parts/answer.ts';
import { dateField, hasProblems, onceField, postForm, problemOf } from '../parts/forms.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import { readDate } from '../parts/typed-dates.ts';
import type { Form, Problems } from '../parts/typed-form.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { hourFields, hoursIn, titleField } from './closure-form.ts';
import {
  CHANGED_MEANWHILE,
  CLOSURES,
  closureRoutes,
  datesText,
  GOES_ON,
  inTime,
  keptText,
  titleOf,
} from './closures.ts';

const PATH = `${CLOSURES}/:id/change`;
const LABELS = { title: 'Title', date: 'Only on this date' } as const;

type Typed = { readonly title: string; readonly start: string; readonly until: string; readonly date: string };

/** Changes hours and title of a closed time or an own event, on all of its dates or on one. */
export function closureChangePages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  const ofClosure = closureRoutes(community, queries);

  ofClosure.get(PATH, 'Coordinator', (visit, closure) => {
    const { restored } = visit;
    if (closure.endedAt !== undefined) return missing('closed time');
    return changePage(visit, closure, restored === undefined ? typedFrom(closure) : typedIn(restored), {});
  });

  ofClosure.post(PATH, 'Coordinator', async (visit, closure) => {
    const { account, context, form } = visit;
    const { replacedBy } = closure;
    if (replacedBy !== undefined) return nothingToDo(`${CLOSURES}/${replacedBy}`, CHANGED_MEANWHILE);
    const typed = typedIn(form);
    const hours = hoursIn(typed);
    const { date, problem } = typed.date === '' ? { date: undefined, problem: undefined } : readDate(typed.date);
    const problems: Problems = { ...hours.problems, ...defined({ date: problem }) };
    if (hasProblems(problems)) return changePage(visit, closure, typed, problems);
    const wanted = { title: typed.title, start: hours.start, until: hours.until, ...defined({ date }) };
    const name = { closureId: closure.closureId, communityId: account.id };
    const outcome = await inTime(commands.closures.change({ ...name, ...wanted }, context));
    if (outcome === 'Working') return GOES_ON;
    if (isRefusal(outcome)) return changePage(visit, closure, typed, problemsOf(outcome));
    return answerOf(outcome);
  });
}

type Changed = Exclude<Awaited<ReturnType<PageDeps['commands']['closures']['change']>>, Refusal>;

function answerOf({ closureId, days, skipped, bookings }: Changed): Answer {
  const page = `${CLOSURES}/${closureId}`;
  if (days === 0) return nothingToDo(page, 'It is like this already. Nothing has changed.');
  const stay = `${counted(skipped.length, 'day')} ${skipped.length === 1 ? 'stays' : 'stay'}`;
  const parts = [
    `Changed: ${counted(days, 'day')} of spaces.`,
    ...(skipped.length > 0 ? [`${stay} as before, as the hours are not free or the clocks skip them.`] : []),
    ...keptText(bookings.length),
  ];
  return done(page, parts.join(' '));
}

const typedIn = (form: Form): Typed => form.texts(['title', 'start', 'until', 'date']);

const typedFrom = ({ title = '', start, until }: ReadableClosure): Typed => ({
  title: title === ERASED ? '' : title,
  start: String(start),
  until: String(until),
  date: '',
});

const problemsOf = (refusal: Refusal): Problems =>
  refusal.refused === 'ValidationError' ? problemOf(refusal, LABELS) : { '': refusal.details };

function changePage(visit: CommunityVisit, closure: ReadableClosure, typed: Typed, problems: Problems): PageContent {
  const { closureId, kind, days, spaceIds } = closure;
  const date = dateField({
    name: 'date',
    label: LABELS.date,
    value: typed.date,
    problems,
    hint: 'Empty: all dates from today on',
  });
  const content = html`${onceField()}<p>${datesText(closure)}</p>${titleField({ kind, title: typed.title }, problems)}
${hourFields(typed, problems)}${days > spaceIds.length && date}<div><button class="button">Save</button></div>`;
  return {
    title: `Change ${titleOf(closure)}`,
    lead:
      kind === 'Closure'
        ? 'Bookings that are there stay, and are listed afterwards.'
        : 'It takes free hours only. Days on which the new ones are not free stay as they are, and are listed afterwards.',
    back: { href: `${CLOSURES}/${closureId}`, label: titleOf(closure) },
    problems,
    main: postForm(visit, `${CLOSURES}/${closureId}/change`, 'card fields narrow closure-form')`${content}`,
  };
}
