import { isRefusal, type Refusal } from '../../domain/decision.ts';
import type { SpaceTerms } from '../../domain/events.ts';
import { cents } from '../../domain/ids.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { ANSWER_HOURS, DEFAULT_ANSWER_HOURS, DURATION_HOURS, HOUR, NAME } from '../../domain/limits.ts';
import { picked } from '../../domain/picked.ts';
import { AMOUNT_RULE, formatAmount, parseAmount, priceOf } from '../../domain/pricing.ts';
import { SPACE_TERMS, type Space, wrongTerms } from '../../domain/space.ts';
import { type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { named, namedText } from '../../html/names.ts';
import type { SpaceNow } from '../../queries/space-changes.ts';
import { actorOrYou } from '../parts/actor-view.ts';
import { addressed } from '../parts/addressed.ts';
import {
  actionButton,
  confirm,
  csrfField,
  field,
  formProblem,
  NO_PROBLEMS,
  onceField,
  type Problems,
  problemOf,
  statusOf,
} from '../parts/fields.ts';
import { amount, clock, duration, momentIn, zoneName } from '../parts/formats.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import { type Answer, type Form, missing, type Routes, type Shown, type Visit } from '../parts/visit.ts';
import { historyOf } from './history.ts';

const LABELS = {
  name: 'Name',
  windowStart: 'Opens at',
  windowEnd: 'Closes at',
  durationHours: 'Event length',
  eventFee: 'Event fee',
  answerHours: 'Time to answer',
} as const;

const SENT_BEFORE =
  'This form was sent before, and its space was added then. Nothing was added this time: if you want another one like this, add it once more.';

/** The form's fields as they were typed. */
type Typed = Readonly<Record<keyof typeof LABELS, string>>;

/** A community's spaces: adding, editing, closing and reopening them. */
export function spacePages(routes: Routes, { commands, queries, settings }: PageDeps): void {
  const { catalogue } = commands;
  const { withSpace } = addressed(queries);

  routes.get(
    '/console/spaces',
    async (visit) => {
      const spaces = await queries.spaces.list(visit.account);
      return {
        title: 'Spaces',
        section: 'spaces',
        main: html`<div class="head"><div><h1>Spaces</h1><p class="lead">What brands can book, and on what terms.</p></div><a class="button" href="/console/spaces/new">${icon('plus')} Add a space</a></div>
${
  spaces.length === 0
    ? html`<div class="empty">${icon('space')}<h2>No spaces yet</h2><p>Set its opening hours, event length and fee, and brands can find it right away.</p><a class="button" href="/console/spaces/new">Add your first space</a></div>`
    : html`<ul class="grid">${spaces.map((space) => card(visit, space))}</ul>`
}`,
      };
    },
    'Community',
  );

  routes.get(
    '/console/spaces/new',
    async (visit) => {
      const isFirst = (await queries.spaces.list(visit.account)).length === 0;
      return newPage(visit, visit.kept ? typedIn(visit.kept) : typedOf(undefined), NO_PROBLEMS, isFirst);
    },
    'Community',
  );

  routes.post(
    '/console/spaces/new',
    (visit) =>
      visit.once(
        async () => {
          const typed = typedIn(visit.form);
          const terms = termsOf(typed);
          const outcome = await catalogue.addSpace({ ...terms, communityId: visit.account.id }, visit.context);
          return isRefusal(outcome)
            ? newPage(visit, typed, problemsOf(outcome, typed))
            : {
                go: '/console/spaces',
                flash: { kind: 'done', text: `Space added. Brands can now book ${namedText(terms.name)}.` },
              };
        },
        async () => ({ ...newPage(visit, typedIn(visit.form), { '': SENT_BEFORE }), status: 409 }),
      ),
    'Community',
  );

  routes.get(
    '/console/spaces/:id',
    (visit) =>
      withSpace(visit, async (space) => {
        const { kept } = visit;
        return kept === undefined
          ? { ...editPage(visit, space, typedOf(space), outdated(space)), status: 200 }
          : editPage(visit, space, typedIn(kept), NO_PROBLEMS, seenIn(kept));
      }),
    'Community',
  );

  routes.post(
    '/console/spaces/:id',
    (visit) =>
      withSpace(visit, async (space) => {
        const { spaceId } = space;
        const typed = typedIn(visit.form);
        const seen = seenIn(visit.form);
        if (seen === undefined) return changedPage(visit, typed, undefined, { space, changed: [] });
        const outcome = await catalogue.changeSpace({ spaceId, terms: termsOf(typed), seen }, visit.context);
        if (!isRefusal(outcome)) {
          const saved = outcome.events.length > 0;
          const text = saved
            ? 'Saved. Existing requests and bookings keep their terms.'
            : 'Nothing has changed: these are the terms already.';
          return { go: '/console/spaces', flash: { kind: saved ? 'done' : 'notice', text } };
        }
        const found = await queries.spaceChanges(visit.account, spaceId, seen);
        return found === undefined || found.changed.length === 0
          ? editPage(visit, found?.space ?? space, typed, problemsOf(outcome, typed))
          : changedPage(visit, typed, seen, found);
      }),
    'Community',
  );

  for (const [step, text, state] of [
    ['close', 'Space closed. It takes no new bookings, and existing ones are kept.', 'closed'],
    ['open', 'Space reopened. It takes bookings again.', 'open'],
  ] as const) {
    routes.post(
      `/console/spaces/:id/${step}`,
      (visit) =>
        withSpace(visit, async ({ spaceId }) => {
          const change = step === 'close' ? catalogue.closeSpace : catalogue.openSpace;
          const outcome = await change(spaceId, visit.context);
          if (isRefusal(outcome)) return missing('space');
          if (outcome.events.length > 0) return { go: '/console/spaces', flash: { kind: 'done', text } };
          const switched = (await queries.spaceChanges(visit.account, spaceId, undefined))?.switched;
          const by = switched === undefined ? '' : ` by ${actorOrYou(visit, switched.by)}`;
          const already = `This space was already ${state === 'open' ? 'reopened' : state}${by}. Nothing has changed.`;
          return { go: '/console/spaces', flash: { kind: 'notice', text: already } };
        }),
      'Community',
    );
  }

  const card = (
    visit: Visit,
    space: Space,
  ): Html => html`<li class="card"><div class="row apart"><h2><a href="/console/spaces/${space.spaceId}">${named(space.name)}</a></h2>${openBadge(space)}</div>
<dl class="facts"><dt>Opening hours</dt><dd>${clock(space.windowStart)} to ${clock(space.windowEnd)} <span class="muted nowrap">${zoneName(space.timeZone)}</span></dd>
<dt>${LABELS.durationHours}</dt><dd>${duration(space.durationHours)}</dd>
<dt>${LABELS.eventFee}</dt><dd>${amount(space.eventFee, settings.currency)} <span class="muted">(brands pay ${amount(priceOf(space.eventFee, settings.serviceFeePercent).totalPrice, settings.currency)})</span></dd>
<dt>${LABELS.answerHours}</dt><dd>${duration(space.answerHours)}</dd></dl>
<div class="row"><a class="button quiet small" href="/console/spaces/${space.spaceId}">Edit</a>${openOrClose(visit, space)}</div></li>`;

  function newPage(visit: Visit, typed: Typed, problems: Problems = NO_PROBLEMS, isFirst = false): Answer {
    const title = isFirst ? 'Add your first space' : 'Add a space';
    return {
      title,
      section: 'spaces',
      status: statusOf(problems),
      main: html`${!isFirst && backLink}<div class="head"><div><h1>${title}</h1>${isFirst && html`<p class="lead">Brands find it and send you requests, which you approve or decline. You can change everything later.</p>`}</div></div><form class="card fields narrow" method="post" action="/console/spaces/new">${csrfField(visit)}${onceField()}${fields(typed, problems)}<div><button class="button">Add space</button></div></form>`,
    };
  }

  /** @param seen what the form was made from, if that was not the space as it is */
  function editPage(
    visit: Visit,
    space: Space,
    typed: Typed,
    problems: Problems = NO_PROBLEMS,
    seen: SpaceTerms = space,
  ): Shown {
    return {
      title: namedText(space.name),
      section: 'spaces',
      status: statusOf(problems),
      main: html`${backLink}<div class="head"><h1>${named(space.name)}</h1>${openBadge(space)}</div>
<form class="card fields narrow" method="post" action="/console/spaces/${space.spaceId}">${csrfField(visit)}${seenField(seen)}${fields(typed, problems)}<p class="muted small">Existing requests and bookings keep the terms on which they were made.</p><div><button class="button">Save</button></div></form>
<section class="card narrow"><h2>${space.active ? 'Close space' : 'Reopen space'}</h2><p>${space.active ? 'A closed space takes no new bookings. Existing ones are kept.' : 'It takes bookings again immediately.'}</p>${openOrClose(visit, space)}</section>
<p class="muted small"><a href="${historyOf('space', space.spaceId)}">What was changed here, and by whom</a></p>`,
    };
  }

  /**
   * Shows what a colleague saved since the page was made, beside what was typed. Fields that were not touched take the colleague's
   * value, so that saving again undoes only what this user chose to.
   * @param seen undefined if the form did not say what it was made from
   */
  function changedPage(visit: Visit, typed: Typed, seen: SpaceTerms | undefined, { space, changed }: SpaceNow): Answer {
    const now = typedOf(space);
    const before = seen && typedOf({ ...space, ...seen });
    const both = keysOf(LABELS).filter((term) => typed[term] !== now[term] && typed[term] !== before?.[term]);
    const who = [...new Set(changed.map(({ by }) => actorOrYou(visit, by)))].join(' and ');
    const problems: Record<string, string> = {
      '':
        seen === undefined
          ? 'This form came from an older page, which did not say what it was made from. Nothing was saved. Look again, and save once more if this is what you want.'
          : `This space was changed meanwhile by ${who}. Nothing of yours was saved: look again, and save once more if this is what you want.`,
    };
    for (const { term, by, at } of changed) {
      const told = `“${LABELS[term]}” is now ${shown(space, term)}, changed by ${actorOrYou(visit, by)} on ${momentIn(space.timeZone, at)}.`;
      problems[term] = both.includes(term) ? `${told} Yours is still in the field.` : `${told} The field has it now.`;
    }
    if (seen === undefined) for (const term of both) problems[term] = `“${LABELS[term]}” is now ${shown(space, term)}.`;
    const merged = { ...now, ...picked(typed, both) };
    return { ...editPage(visit, space, merged, problems), status: 409 };
  }

  /** A term as pages show it. */
  function shown(space: Space, term: keyof SpaceTerms): string {
    switch (term) {
      case 'name':
        return namedText(space.name);
      case 'windowStart':
      case 'windowEnd':
        return clock(space[term]);
      case 'durationHours':
      case 'answerHours':
        return duration(space[term]);
      case 'eventFee':
        return amount(space.eventFee, settings.currency);
      default:
        return term satisfies never;
    }
  }

  const fields = (typed: Typed, problems: Problems): Html => html`${formProblem(problems)}
${field({ name: 'name', label: LABELS.name, value: typed.name, required: true, problems, attributes: { maxlength: NAME.max, autocomplete: 'off' } })}
<div class="fields-row">${field({ name: 'windowStart', label: LABELS.windowStart, hint: `Hour, ${HOUR.min} to ${HOUR.max}`, type: 'number', value: typed.windowStart, required: true, problems, attributes: HOUR })}
${field({ name: 'windowEnd', label: LABELS.windowEnd, hint: `Hour, ${HOUR.min} to ${HOUR.max}`, type: 'number', value: typed.windowEnd, required: true, problems, attributes: HOUR })}
${field({ name: 'durationHours', label: LABELS.durationHours, hint: `Hours, in steps of ${DURATION_HOURS.step}`, type: 'number', value: typed.durationHours, required: true, problems, attributes: DURATION_HOURS })}</div>
<div class="fields-row">${field({ name: 'eventFee', label: LABELS.eventFee, hint: `In ${settings.currency}. Brands pay ${settings.serviceFeePercent}% on top.`, value: typed.eventFee, required: true, problems, attributes: { inputmode: 'decimal', autocomplete: 'off' } })}
${field({ name: 'answerHours', label: LABELS.answerHours, hint: 'Hours until an unanswered request expires', type: 'number', value: typed.answerHours, required: true, problems, attributes: ANSWER_HOURS })}</div>`;
}

/** What a refusal says, and how to write an amount if it was none. */
function problemsOf(refusal: Refusal, typed: Typed): Problems {
  const problems = problemOf(refusal, LABELS);
  return parseAmount(typed.eventFee) === undefined
    ? { ...problems, eventFee: `“${LABELS.eventFee}” ${AMOUNT_RULE}.` }
    : problems;
}

/** What the form was made from, for the check that nobody has changed it meanwhile. */
const seenField = (terms: SpaceTerms): Html =>
  html`<input type="hidden" name="seen" value="${JSON.stringify(picked(terms, SPACE_TERMS))}">`;

/** Undefined if it is not what a form of ours carries. */
function seenIn(form: Form): SpaceTerms | undefined {
  try {
    const seen: unknown = JSON.parse(form.text('seen'));
    return isTerms(seen) ? seen : undefined;
  } catch {
    return undefined;
  }
}

const isTerms = (seen: unknown): seen is SpaceTerms =>
  typeof seen === 'object' &&
  seen !== null &&
  SPACE_TERMS.every((term) => typeof Reflect.get(seen, term) === (term === 'name' ? 'string' : 'number'));

/** Points out a term that earlier rules allowed and today's do not, before the user tries to save it. */
function outdated(space: Space): Problems {
  const wrong = wrongTerms(space);
  return wrong === undefined ? NO_PROBLEMS : problemOf(wrong, LABELS);
}

const backLink = html`<p class="back"><a href="/console/spaces">${icon('back')} Spaces</a></p>`;

const openBadge = ({ active }: Space): Html =>
  active
    ? html`<span class="status is-approved">${icon('approved')}Open</span>`
    : html`<span class="status is-cancelled">${icon('cancelled')}Closed</span>`;

const openOrClose = (visit: Visit, { spaceId, active, name }: Space): Html =>
  active
    ? confirm(visit, {
        action: `/console/spaces/${spaceId}/close`,
        open: 'Close…',
        question: `Close ${namedText(name)}? It takes no new bookings until you reopen it. Existing ones are kept.`,
        submit: 'Close space',
      })
    : actionButton(visit, `/console/spaces/${spaceId}/open`, 'Reopen', 'small');

const typedIn = (form: Form): Typed => ({
  name: form.text('name'),
  windowStart: form.text('windowStart'),
  windowEnd: form.text('windowEnd'),
  durationHours: form.text('durationHours'),
  eventFee: form.text('eventFee'),
  answerHours: form.text('answerHours'),
});

const typedOf = (space: Space | undefined): Typed => ({
  name: space?.name ?? '',
  windowStart: String(space?.windowStart ?? 9),
  windowEnd: String(space?.windowEnd ?? 21),
  durationHours: String(space?.durationHours ?? 4),
  eventFee: space === undefined ? '' : formatAmount(space.eventFee),
  answerHours: String(space?.answerHours ?? DEFAULT_ANSWER_HOURS),
});

/** Parses what was typed. Anything that is not a number becomes NaN, which the domain's rules refuse. */
function termsOf(typed: Typed): SpaceTerms {
  const number = (text: string) => (/^\d{1,12}(?:[.,]\d+)?$/.test(text) ? Number(text.replace(',', '.')) : Number.NaN);
  return {
    name: typed.name,
    windowStart: number(typed.windowStart),
    windowEnd: number(typed.windowEnd),
    durationHours: number(typed.durationHours),
    eventFee: parseAmount(typed.eventFee) ?? cents(Number.NaN),
    answerHours: number(typed.answerHours),
  };
}
