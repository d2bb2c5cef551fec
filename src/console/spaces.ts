import { isRefusal } from '../domain/decision.ts';
import type { SpaceTerms } from '../domain/events.ts';
import { cents } from '../domain/ids.ts';
import { ANSWER_HOURS, DURATION_HOURS, HOUR, NAME } from '../domain/limits.ts';
import { formatAmount, parseAmount, priceOf } from '../domain/pricing.ts';
import { type Space, wrongTerms } from '../domain/space.ts';
import { type Html, html } from '../html/html.ts';
import { icon } from '../html/layout.ts';
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
} from './fields.ts';
import { amount, clock, duration, zoneName } from './formats.ts';
import type { PageDeps } from './page-deps.ts';
import { type Answer, type Form, idOf, missing, type Routes, type Shown, type Visit } from './visit.ts';

const LABELS = {
  name: 'Name',
  windowStart: 'Opens at',
  windowEnd: 'Closes at',
  durationHours: 'Length of an event',
  eventFee: 'Flat fee',
  answerHours: 'Time to answer',
} as const;

/** What stands in the form, as it was typed. */
type Typed = Readonly<Record<keyof typeof LABELS, string>>;

/** A community's spaces: window, length, fee, answer time, open or closed. */
export function spacePages(routes: Routes, { commands, queries, settings }: PageDeps): void {
  const { catalogue } = commands;

  routes.get(
    '/console/spaces',
    async (visit) => {
      const spaces = await queries.spaces.list(visit.account);
      return {
        title: 'Spaces',
        section: 'spaces',
        main: html`<div class="head"><div><h1>Spaces</h1><p class="lead">What brands can book, and on which terms.</p></div><a class="button" href="/console/spaces/new">${icon('plus')} Add a space</a></div>
${
  spaces.length === 0
    ? html`<div class="empty">${icon('space')}<h2>No spaces yet</h2><p>Say when it is open, how long an event lasts and what it costs. Brands find it at once.</p><a class="button" href="/console/spaces/new">Add the first space</a></div>`
    : html`<ul class="grid">${spaces.map((space) => card(visit, space))}</ul>`
}`,
      };
    },
    'Community',
  );

  routes.get('/console/spaces/new', async (visit) => newPage(visit, typedOf(undefined)), 'Community');

  routes.post(
    '/console/spaces/new',
    (visit) =>
      visit.once(async () => {
        const typed = typedIn(visit.form);
        const terms = termsOf(typed);
        const outcome = await catalogue.addSpace({ ...terms, communityId: visit.account.id }, visit.context);
        return isRefusal(outcome)
          ? newPage(visit, typed, problemOf(outcome, LABELS))
          : { go: '/console/spaces', flash: { kind: 'done', text: `${terms.name} can be booked from now on.` } };
      }),
    'Community',
  );

  routes.get(
    '/console/spaces/:id',
    (visit) =>
      withSpace(visit, async (space) => ({ ...editPage(visit, space, typedOf(space), outdated(space)), status: 200 })),
    'Community',
  );

  routes.post(
    '/console/spaces/:id',
    (visit) =>
      withSpace(visit, async (space) => {
        const typed = typedIn(visit.form);
        const outcome = await catalogue.changeSpace({ spaceId: space.spaceId, terms: termsOf(typed) }, visit.context);
        return isRefusal(outcome)
          ? editPage(visit, space, typed, problemOf(outcome, LABELS))
          : {
              go: '/console/spaces',
              flash: { kind: 'done', text: 'Saved. Bookings that were requested before keep their terms.' },
            };
      }),
    'Community',
  );

  for (const [step, text] of [
    ['close', 'Closed. It takes no new bookings; those it has stay.'],
    ['open', 'Open. It takes bookings again.'],
  ] as const) {
    routes.post(
      `/console/spaces/:id/${step}`,
      (visit) =>
        withSpace(visit, async ({ spaceId }) => {
          const change = step === 'close' ? catalogue.closeSpace : catalogue.openSpace;
          const outcome = await change(spaceId, visit.context);
          if (isRefusal(outcome)) return missing('space');
          return { go: '/console/spaces', flash: { kind: 'done', text } };
        }),
      'Community',
    );
  }

  async function withSpace(visit: Visit, then: (space: Space) => Promise<Answer>): Promise<Answer> {
    const id = idOf(visit.params.id);
    const space = id === undefined ? undefined : await queries.spaces.get(visit.account, id);
    return space === undefined ? missing('space') : then(space);
  }

  const card = (
    visit: Visit,
    space: Space,
  ): Html => html`<li class="card"><div class="row apart"><h2><a href="/console/spaces/${space.spaceId}">${space.name}</a></h2>${openBadge(space)}</div>
<dl class="facts"><dt>Open</dt><dd>${clock(space.windowStart)} to ${clock(space.windowEnd)} <span class="muted nowrap">${zoneName(space.timeZone)}</span></dd>
<dt>Event</dt><dd>${duration(space.durationHours)}</dd>
<dt>Fee</dt><dd>${amount(space.eventFee, settings.currency)} <span class="muted">(brands pay ${amount(priceOf(space.eventFee, settings.serviceFeePercent).totalPrice, settings.currency)})</span></dd>
<dt>Answer</dt><dd>within ${space.answerHours} h</dd></dl>
<div class="row"><a class="button quiet small" href="/console/spaces/${space.spaceId}">Change</a>${openOrClose(visit, space)}</div></li>`;

  function newPage(visit: Visit, typed: Typed, problems: Problems = NO_PROBLEMS): Answer {
    return {
      title: 'Add a space',
      section: 'spaces',
      ...(problems === NO_PROBLEMS ? {} : { status: 422 }),
      main: html`${backLink}<h1>Add a space</h1><form class="card fields narrow" method="post" action="/console/spaces/new">${csrfField(visit)}${onceField()}${fields(typed, problems)}<div><button class="button">Add the space</button></div></form>`,
    };
  }

  function editPage(visit: Visit, space: Space, typed: Typed, problems: Problems = NO_PROBLEMS): Shown {
    return {
      title: space.name,
      section: 'spaces',
      ...(problems === NO_PROBLEMS ? {} : { status: 422 }),
      main: html`${backLink}<div class="head"><h1>${space.name}</h1>${openBadge(space)}</div>
<form class="card fields narrow" method="post" action="/console/spaces/${space.spaceId}">${csrfField(visit)}${fields(typed, problems)}<p class="muted small">Bookings that were requested before keep the terms they were requested on.</p><div><button class="button">Save</button></div></form>
<section class="card narrow"><h2>${space.active ? 'Close the space' : 'Open the space'}</h2><p>${space.active ? 'A closed space takes no new bookings; those it has stay.' : 'It takes bookings again at once.'}</p>${openOrClose(visit, space)}</section>`,
    };
  }

  const fields = (typed: Typed, problems: Problems): Html => html`${formProblem(problems)}
${field({ name: 'name', label: LABELS.name, value: typed.name, required: true, problems, attributes: { maxlength: NAME.max, autocomplete: 'off' } })}
<div class="fields-row">${field({ name: 'windowStart', label: LABELS.windowStart, hint: 'Hour, 0 to 23', type: 'number', value: typed.windowStart, required: true, problems, attributes: HOUR })}
${field({ name: 'windowEnd', label: LABELS.windowEnd, hint: 'Hour, 0 to 23', type: 'number', value: typed.windowEnd, required: true, problems, attributes: HOUR })}
${field({ name: 'durationHours', label: LABELS.durationHours, hint: 'Hours, in quarters', type: 'number', value: typed.durationHours, required: true, problems, attributes: DURATION_HOURS })}</div>
<div class="fields-row">${field({ name: 'eventFee', label: LABELS.eventFee, hint: `${settings.currency} per event; brands pay ${settings.serviceFeePercent} % more`, value: typed.eventFee, required: true, problems, attributes: { inputmode: 'decimal', autocomplete: 'off' } })}
${field({ name: 'answerHours', label: LABELS.answerHours, hint: 'Hours until a request lapses', type: 'number', value: typed.answerHours, required: true, problems, attributes: ANSWER_HOURS })}</div>`;
}

/** A term that an older version of the rules allowed: it is pointed out before somebody tries to save the form. */
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
        open: 'Close …',
        question: `Close ${name}? It takes no new bookings until you open it again. The bookings it has stay.`,
        doIt: 'Close the space',
      })
    : actionButton(visit, `/console/spaces/${spaceId}/open`, 'Open again', 'small');

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
  answerHours: String(space?.answerHours ?? 72),
});

/** What was typed, as the rules read it; what is no number is refused by them. */
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
