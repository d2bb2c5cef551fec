import { isRefusal, type Refusal } from '../../domain/decision.ts';
import type { SpaceDescription } from '../../domain/description.ts';
import type { SpaceTerms } from '../../domain/events.ts';
import { cents } from '../../domain/ids.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { ANSWER_HOURS, DEFAULT_ANSWER_HOURS, DURATION_HOURS, HOUR, NAME } from '../../domain/limits.ts';
import { picked } from '../../domain/picked.ts';
import { AMOUNT_RULE, formatAmount, parseAmount } from '../../domain/pricing.ts';
import { SPACE_TERMS, type Space, wrongTerms } from '../../domain/space.ts';
import { momentIn } from '../../html/formats.ts';
import { type Html, html, namedText } from '../../html/html.ts';
import type { SpaceNow } from '../../queries/space-changes.ts';
import { actorOrYou } from '../parts/actor-view.ts';
import { type Answer, done, missing, nothingToDo, type PageContent } from '../parts/answer.ts';
import { backTo, viaField, withVia } from '../parts/back-link.ts';
import { descriptionView, factsLine } from '../parts/description-views.ts';
import { type Field, field, hiddenField, onceField, postForm, problemOf } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { historyOf } from '../parts/history-links.ts';
import { type ConsoleRoutes, type PageDeps, spaceRoutes } from '../parts/routes.ts';
import type { Form, Problems } from '../parts/typed-form.ts';
import { may, type Settings, type Visit } from '../parts/visit.ts';
import { descriptionPath } from './space-description.ts';
import { duplicatePath } from './space-duplicate.ts';
import {
  cardsOf,
  hoursPath,
  LABELS,
  openBadge,
  openOrClose,
  PATH,
  photosPath,
  rulesText,
  shownTerms,
  spaceList,
  type Typed,
  termFacts,
  weekText,
} from './space-list.ts';

const SENT_BEFORE =
  'This space was already added. Nothing was added this time. To add another one like it, send the form again.';
const FORM_OUTDATED =
  "This form came from an older version of the page. Your changes weren't saved. Review and save again.";

/** A community's spaces: adding, editing, closing and reopening them. */
export function spacePages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  const { catalogue } = commands;
  const ofSpace = spaceRoutes(community, queries);

  community.get(PATH, 'Viewer', async (visit) => {
    const groups = await queries.spaces.listGrouped(visit.account);
    const shown = cardsOf(groups.flatMap(({ spaces }) => spaces));
    return spaceList(visit, groups, await queries.photos.ofSpaces(shown.map(({ spaceId }) => spaceId)));
  });

  community.get(`${PATH}/new`, 'Manager', async (visit) => {
    const isFirst = (await queries.spaces.count(visit.account)) === 0;
    const typed = visit.restored ? typedIn(visit.restored) : typedOf(undefined);
    return newPage(visit, typed, {}, isFirst);
  });

  community.post(
    `${PATH}/new`,
    'Manager',
    async (visit) => {
      const typed = typedIn(visit.form);
      const terms = termsOf(typed);
      const outcome = await catalogue.addSpace({ ...terms, communityId: visit.account.id }, visit.context);
      if (isRefusal(outcome)) return newPage(visit, typed, problemsOf(outcome, typed));
      return done(visit.via ?? PATH, `Space added. Brands can now book ${namedText(terms.name)}.`);
    },
    async (visit) => ({ ...newPage(visit, typedIn(visit.form), { '': SENT_BEFORE }), status: 409 }),
  );

  ofSpace.get(`${PATH}/:id`, 'Viewer', async (visit, space) => {
    const { restored } = visit;
    if (!may(visit, 'Manager')) return termsPage(visit, space, await queries.descriptions.ofSpace(space));
    return restored === undefined
      ? { ...editPage(visit, space, typedOf(space), outdated(space)), status: 200 }
      : editPage(visit, space, typedIn(restored), {}, seenIn(restored));
  });

  ofSpace.post(`${PATH}/:id`, 'Manager', async (visit, space) => {
    const { spaceId } = space;
    const typed = typedIn(visit.form);
    const seen = seenIn(visit.form);
    if (seen === undefined) return outdatedFormPage(visit, typed, space);
    const outcome = await catalogue.changeSpace({ spaceId, terms: termsOf(typed), seen }, visit.context);
    if (isRefusal(outcome)) {
      const now = await queries.spaceChanges(visit.account, spaceId, seen);
      return now === undefined || now.changed.length === 0
        ? editPage(visit, now?.space ?? space, typed, problemsOf(outcome, typed))
        : changedPage(visit, typed, seen, now);
    }
    return outcome.events.length > 0
      ? done(visit.via ?? PATH, 'Saved. Existing requests and bookings keep their terms.')
      : nothingToDo(visit.via ?? PATH, 'Nothing has changed: these are the terms already.');
  });

  const closed = 'It takes no new bookings, and existing ones are kept.';
  switching('close', 'closed', catalogue.closeSpace, closed);
  switching('open', 'reopened', catalogue.openSpace, 'It takes bookings again.');

  /** Closes or reopens a space. */
  function switching(step: string, word: string, change: typeof catalogue.closeSpace, effect: string): void {
    ofSpace.post(`${PATH}/:id/${step}`, 'Manager', async (visit, { spaceId }) => {
      const outcome = await change(spaceId, visit.context);
      if (isRefusal(outcome)) return missing('space');
      if (outcome.events.length > 0) return done(visit.via ?? PATH, `Space ${word}. ${effect}`);
      const switched = (await queries.spaceChanges(visit.account, spaceId, undefined))?.switched;
      const by = switched === undefined ? '' : ` by ${actorOrYou(visit, switched.by)}`;
      return nothingToDo(visit.via ?? PATH, `This space was already ${word}${by}. Nothing has changed.`);
    });
  }
}

function newPage(visit: Visit, typed: Typed, problems: Problems, isFirst = false): PageContent {
  const button = html`<div><button class="button">Add space</button></div>`;
  const content = html`${viaField(visit)}${onceField()}${fields(visit.settings, typed, problems)}${button}`;
  const main = postForm(visit, `${PATH}/new`, 'card fields narrow')`${content}`;
  if (!isFirst) return { title: 'Add a space', back: backTo(visit, { href: PATH, label: 'Spaces' }), problems, main };
  const lead = 'Brands find it and send you requests, which you approve or decline. You can change everything later.';
  return { title: 'Add your first space', lead, problems, main };
}

/** @param seen the terms that the form was made from, if not the current ones */
function editPage(
  visit: Visit,
  space: Space,
  typed: Typed,
  problems: Problems = {},
  seen: SpaceTerms = space,
): PageContent {
  const { spaceId, active } = space;
  const content = html`${viaField(visit)}${seenField(seen)}${
    space.week?.length &&
    html`<p class="muted small">Its weekdays have hours of their own (below), which do not follow “${LABELS.windowStart}” and
“${LABELS.windowEnd}”.</p>`
  }${fields(visit.settings, typed, problems)}
<p class="muted small">Existing requests and bookings keep the terms on which they were made.</p>
<div><button class="button">Save</button></div>`;
  return {
    title: namedText(space.name),
    back: backTo(visit, { href: PATH, label: 'Spaces' }),
    actions: openBadge(space),
    problems,
    main: html`${postForm(visit, `${PATH}/${spaceId}`, 'card fields narrow')`${content}`}
<section class="card narrow"><h2>Hours by weekday and date</h2>
<p>${weekText(space, visit)}.${rulesText(space)}</p>
<div>${buttonLink(withVia(visit, hoursPath(spaceId)), 'Change hours and rules', 'quiet')}</div></section>
<section class="card narrow"><h2>Description</h2>
<p>${factsLine(space.facts) || 'Brands read nothing about this space yet.'}</p>
<div class="row">${buttonLink(withVia(visit, descriptionPath(spaceId)), 'Describe this space', 'quiet')}
${buttonLink(withVia(visit, photosPath(spaceId)), 'Photos', 'quiet')}
${buttonLink(duplicatePath(spaceId), 'Add another one like it', 'quiet')}</div></section>
<section class="card narrow"><h2>${active ? 'Close space' : 'Reopen space'}</h2>
<p>${active ? 'A closed space takes no new bookings. Existing ones are kept.' : 'It takes bookings again immediately.'}</p>
${openOrClose(visit, space, (path) => withVia(visit, path))}</section>
<p class="muted small"><a href="${historyOf('space', spaceId, visit)}">Change history</a></p>`,
  };
}

/** The terms of a space, for those who may not change them. */
function termsPage(visit: Visit, space: Space, description: SpaceDescription): PageContent {
  return {
    title: namedText(space.name),
    back: backTo(visit, { href: PATH, label: 'Spaces' }),
    actions: openBadge(space),
    main: html`<section class="card narrow"><h2 class="visually-hidden">Terms</h2>
<p>${weekText(space, visit)}.${rulesText(space)}</p>
<dl class="facts">${termFacts(space, visit)}</dl>
<p class="muted small">A Manager of the community can change them.</p></section>${descriptionView(description, {})}
<p class="muted small"><a href="${historyOf('space', space.spaceId, visit)}">Change history</a></p>`,
  };
}

/**
 * Shows the changes that others saved since the page was rendered, beside the user's input. Untouched fields take the new values, so that
 * saving again changes only what this user chose.
 */
function changedPage(visit: Visit, typed: Typed, seen: SpaceTerms, { space, changed }: SpaceNow): Answer {
  const before = typedOf({ ...space, ...seen });
  const now = typedOf(space);
  const both = keysOf(LABELS).filter((term) => typed[term] !== now[term] && typed[term] !== before[term]);
  const terms = shownTerms(space, visit);
  const who = [...new Set(changed.map(({ by }) => actorOrYou(visit, by)))].join(' and ');
  const problems: Record<string, string> = {
    '': `This space was changed by ${who} in the meantime. Your changes weren't saved. Review and save again.`,
  };
  for (const { term, by, at } of changed) {
    if (!isInForm(term)) continue;
    const field = both.includes(term) ? 'Your value is still in the field.' : 'The field has the new value.';
    problems[term] =
      `“${LABELS[term]}” is now ${terms[term]}, changed by ${actorOrYou(visit, by)} on ${momentIn(space.timeZone, at)}. ${field}`;
  }
  return { ...editPage(visit, space, { ...now, ...picked(typed, both) }, problems), status: 409 };
}

/** Answers a form that lacks the terms it was made from. */
function outdatedFormPage(visit: Visit, typed: Typed, space: Space): Answer {
  const now = typedOf(space);
  const terms = shownTerms(space, visit);
  const different = keysOf(LABELS).filter((term) => typed[term] !== now[term]);
  const problems = Object.fromEntries(different.map((term) => [term, `“${LABELS[term]}” is now ${terms[term]}.`]));
  return { ...editPage(visit, space, typed, { '': FORM_OUTDATED, ...problems }), status: 409 };
}

function fields({ currency, serviceFeePercent }: Settings, typed: Typed, problems: Problems): Html {
  const control = (name: keyof Typed, options: Pick<Field, 'hint' | 'type' | 'attributes'>) =>
    field({ name, label: LABELS[name], value: typed[name], required: true, problems, ...options });
  const hour = { hint: `Hour, ${HOUR.min} to ${HOUR.max}`, type: 'number', attributes: HOUR } as const;
  const length = `Hours, in steps of ${DURATION_HOURS.step}`;
  const fee = `In ${currency}. Brands pay ${serviceFeePercent}% on top.`;
  const answer = 'Hours until an unanswered request expires';
  return html`${control('name', { attributes: { maxlength: NAME.max, autocomplete: 'off' } })}
<div class="fields-row">${control('windowStart', hour)}${control('windowEnd', hour)}
${control('durationHours', { hint: length, type: 'number', attributes: DURATION_HOURS })}</div>
<div class="fields-row">
${control('eventFee', { hint: fee, attributes: { inputmode: 'decimal', autocomplete: 'off' } })}
${control('answerHours', { hint: answer, type: 'number', attributes: ANSWER_HOURS })}</div>`;
}

/** The problems of a refusal. If the fee is not an amount, its problem says how to write one. */
function problemsOf(refusal: Refusal, typed: Typed): Problems {
  const problems = problemOf(refusal, LABELS);
  return parseAmount(typed.eventFee) === undefined
    ? { ...problems, eventFee: `“${LABELS.eventFee}” ${AMOUNT_RULE}.` }
    : problems;
}

/** The terms that the form was made from, to detect changes by others. */
const seenField = (terms: SpaceTerms): Html => hiddenField('seen', JSON.stringify(picked(terms, SPACE_TERMS)));

/** Undefined if the form lacks them. */
function seenIn(form: Form): SpaceTerms | undefined {
  try {
    const seen: unknown = JSON.parse(form.text('seen'));
    return isTerms(seen) ? seen : undefined;
  } catch {
    return undefined;
  }
}

export const isTerms = (seen: unknown): seen is SpaceTerms =>
  typeof seen === 'object' &&
  seen !== null &&
  keysOf(LABELS).every((term) => typeof Reflect.get(seen, term) === (term === 'name' ? 'string' : 'number'));

const isInForm = (term: string): term is keyof Typed => Object.hasOwn(LABELS, term);

/** Points out terms that earlier rules allowed and today's do not, before the user tries to save. */
function outdated(space: Space): Problems {
  const wrong = wrongTerms(space);
  return wrong === undefined ? {} : problemOf(wrong, LABELS);
}

const typedIn = (form: Form): Typed => form.texts(keysOf(LABELS));

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
