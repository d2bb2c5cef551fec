import type { FastifyReply, FastifyRequest } from 'fastify';
import { LINK_PATHS, SIGN_UP_PATH } from '../../auth/links.ts';
import { HAS_SIGN_IN, type NewBrand, type SignUp, type SignUps, type WantedBooking } from '../../auth/sign-ups.ts';
import type { Account } from '../../domain/account.ts';
import { isRefusal, type Refusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { spaceId } from '../../domain/ids.ts';
import { CAPACITY, EMAIL, HOUR, isWithin, MESSAGE, NAME } from '../../domain/limits.ts';
import { clock, longDate, tryAgainIn } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import type { Flash } from '../../html/layout.ts';
import {
  controlsOf,
  dateField,
  field,
  hiddenField,
  onceField,
  PASSWORD_HINT,
  passwordField,
  problemOf,
  select,
  textArea,
} from '../parts/forms.ts';
import { addressOf, type Fields } from '../parts/links.ts';
import { readDate } from '../parts/typed-dates.ts';
import { type Form, idOf, type Problems } from '../parts/typed-form.ts';
import { type CardPage, contextOf, donePage, type LinkRoutes, linkForm, sendCard, sendEnded } from './link-page.ts';

const CONFIRM = LINK_PATHS.signUp;
const SENT = `${SIGN_UP_PATH}/sent`;
type Deps = {
  readonly signUps: SignUps;
  /** The name of a space that everyone may see; undefined for others, whose names strangers may not know. */
  readonly publishedName: (spaceId: number) => Promise<string | undefined>;
  /** The sign-up that began in a browser, in which its link needs no password. */
  readonly begunIn: {
    get(request: FastifyRequest): string | undefined;
    set(reply: FastifyReply, id: string): void;
  };
  /** Signs a new user in, and shows a message on the first page. */
  readonly firstSignIn: (
    request: FastifyRequest,
    reply: FastifyReply,
    of: Pick<NewBrand, 'user'> & { readonly account: Account; readonly flash: Flash; readonly to: string },
  ) => Promise<FastifyReply>;
};

/** Signing up a brand, with the request that it begins with: the form, and the page that its link opens. */
export function signUpRoutes(routes: LinkRoutes, deps: Deps): void {
  const { get, post } = routes;
  const { signUps, begunIn, firstSignIn } = deps;

  async function signUpPage(form: Form, problems: Problems = {}): Promise<CardPage> {
    const wanted = idOf(form.text('space'));
    return pageOf(form, problems, wanted === undefined ? undefined : await deps.publishedName(wanted));
  }

  async function refused(reply: FastifyReply, form: Form, refusal: Refusal): Promise<FastifyReply> {
    const { retryAfter } = refusal;
    if (retryAfter === undefined) return sendCard(reply, await signUpPage(form, problemOf(refusal, LABELS)));
    reply.header('retry-after', retryAfter);
    const problem = `${refusal.details} ${tryAgainIn(retryAfter * 1_000)}`;
    return sendCard(reply, await signUpPage(form, { '': problem }), 429);
  }

  get(SIGN_UP_PATH, async (query, _request, reply) => sendCard(reply, await signUpPage(query)));

  // Status, text and work are the same for every address: it is looked up only when the mail is written.
  post(SIGN_UP_PATH, async (form, request, reply) => {
    const typed = {
      brandName: form.text('brandName'),
      email: form.text('email'),
      password: form.password(),
      ...defined({ wanted: wantedIn(form) }),
    };
    const { problem } = form.text('date') === '' ? {} : readDate(form.text('date'));
    if (problem !== undefined) return sendCard(reply, await signUpPage(form, { date: problem }));
    const id = await signUps.begin(typed, request.ip);
    if (isRefusal(id)) return refused(reply, form, id);
    begunIn.set(reply, id);
    return reply.redirect(SENT, 303);
  });

  const sent =
    'A mail with a link is on its way. Open it within a day: until then, nothing is made and no request is sent.';
  donePage(routes, SENT, 'Check your mail', sent);

  get(CONFIRM, async (query, request, reply) => {
    const token = query.text('link');
    const signUp = await signUps.check(token);
    return signUp === undefined
      ? sendEnded(reply, TO_SIGN_IN)
      : sendCard(reply, confirmPage(token, signUp, begunIn.get(request) === signUp.id));
  });

  post(CONFIRM, async (form, request, reply) => {
    const token = form.text('link');
    const proof = {
      begunHere: begunIn.get(request),
      password: form.password(),
      form: form.text('once'),
      from: request.ip,
    };
    const brand = await signUps.confirm(token, proof, contextOf(request));
    if (!isRefusal(brand)) return firstSignIn(request, reply, { ...brand, ...firstPageOf(brand) });
    if (brand === HAS_SIGN_IN) return sendCard(reply, hasSignIn(brand), 422);
    const signUp = await signUps.check(token);
    return signUp === undefined
      ? sendEnded(reply, TO_SIGN_IN)
      : sendCard(reply, confirmPage(token, signUp, false, brand.details));
  });
}

const TO_SIGN_IN = { href: '/console', label: 'Sign in' };

/** The fields of the form, in their order, and those that the address carries. */
const LABELS = {
  brandName: 'Name of the brand',
  email: 'E-mail',
  password: 'Password',
  date: 'Date',
  startHour: 'Start time',
  guests: 'Guests',
  message: 'Message',
} as const;

/** The space that the person wants, and what else the address says about the request. */
function wantedIn(form: Form): WantedBooking | undefined {
  const space = idOf(form.text('space'));
  if (space === undefined) return undefined;
  const startHour = form.integer('startHour');
  const { date } = form.text('date') === '' ? {} : readDate(form.text('date'));
  return defined({
    spaceId: spaceId(space),
    date,
    startHour: isWithin(startHour, HOUR) ? startHour : undefined,
    guests: form.text('guests') === '' ? undefined : form.integer('guests'),
    message: form.lines('message') || undefined,
  });
}

function pageOf(form: Form, problems: Problems, room: string | undefined): CardPage {
  const wanted = wantedIn(form);
  const texts = Object.values(problems);
  const request = wanted && requestFields(form, problems, room);
  return {
    title: 'Sign up',
    lead: 'For brands that look for a space. You confirm your address with a link that we send to it.',
    problem: texts.length === 0 ? undefined : texts.join(' '),
    main: html`<form class="fields" method="post" action="${SIGN_UP_PATH}">${request}
${field({
  name: 'brandName',
  label: LABELS.brandName,
  value: form.text('brandName'),
  required: true,
  problems,
  hint: 'This is how communities see you.',
  attributes: { maxlength: NAME.max, autocomplete: 'organization', autofocus: '' },
})}
${field({
  name: 'email',
  label: LABELS.email,
  type: 'email',
  value: form.text('email'),
  required: true,
  problems,
  attributes: { autocomplete: 'username', maxlength: EMAIL.max },
})}
${passwordField({ name: 'password', label: LABELS.password, hint: PASSWORD_HINT, autocomplete: 'new-password', problems })}
<button class="button full" type="submit">Sign up</button></form>
<p class="small">You have a sign-in? <a href="${signInFor(wanted)}">Sign in</a></p>`,
  };
}

/** The request that is sent once the address is confirmed. All of it but the space can be chosen later. */
function requestFields(form: Form, problems: Problems, room: string | undefined): Html {
  const control = controlsOf(form, problems);
  const hours = Array.from({ length: HOUR.max + 1 }, (_, hour) => ({ value: String(hour), label: clock(hour) }));
  const of = room !== undefined && html` for ${named(room)}`;
  return html`${hiddenField('space', form.text('space'))}<fieldset class="field stack"><legend>Your request${of}</legend>
<p class="hint">It is sent once you have confirmed your address. You can also choose later.</p>
<div class="fields-row">${dateField({ ...control('date', LABELS.date) })}
${select({ ...control('startHour', LABELS.startHour), options: [{ value: '', label: 'Choose' }, ...hours] })}
${field({
  ...control('guests', LABELS.guests),
  type: 'number',
  attributes: { ...CAPACITY, inputmode: 'numeric' },
})}</div>
${textArea({
  ...control('message', LABELS.message),
  value: form.lines('message'),
  attributes: { maxlength: MESSAGE.max, rows: 3 },
})}
</fieldset>`;
}

/** What is sent for a person, or begun: without the name of the space, which strangers may not know. */
function wantedView({ date, startHour, guests, message }: WantedBooking): Html | false {
  const facts: readonly (readonly [label: string, text: string])[] = Object.entries(
    defined({
      Date: date && longDate(date),
      'Start time': startHour === undefined ? undefined : clock(startHour),
      Guests: guests === undefined || Number.isNaN(guests) ? undefined : String(guests),
      Message: message,
    }),
  );
  if (facts.length === 0) return false;
  return html`<section class="stack tight full" aria-labelledby="wanted"><h2 id="wanted">Your request</h2>
<p>It is sent once you have confirmed your address.</p>
<dl class="facts">${facts.map(([label, text]) => html`<dt>${label}</dt><dd>${named(text)}</dd>`)}</dl></section>`;
}

const confirmPage = (token: string, { content }: SignUp, isHere: boolean, problem?: string): CardPage => ({
  title: 'Confirm your address',
  lead: html`You sign up ${named(content.brandName)}, and sign in as ${named(content.email)}.`,
  problem,
  main: html`${content.wanted && wantedView(content.wanted)}
${linkForm(CONFIRM, token)`${onceField()}${
  !isHere &&
  html`<input type="hidden" autocomplete="username" value="${content.email}">${passwordField({
    name: 'password',
    label: LABELS.password,
    hint: 'The one that you have just chosen.',
    autocomplete: 'current-password',
    isFocused: true,
  })}`
}<button class="button full" type="submit">Confirm</button>`}`,
});

const hasSignIn = ({ details }: Refusal): CardPage => ({
  title: 'You have a sign-in already',
  lead: details,
  main: html`<a class="button full" href="${TO_SIGN_IN.href}">${TO_SIGN_IN.label}</a>`,
});

/** The page of a space, with what the person had chosen there. */
const spaceAddress = ({
  spaceId: id,
  date,
  startHour,
}: Pick<WantedBooking, 'spaceId' | 'date' | 'startHour'>): string =>
  addressOf(`/console/find/${id}`, defined({ date, start: startHour?.toString() }) satisfies Fields);

const signInFor = (wanted: WantedBooking | undefined): string =>
  addressOf('/console/sign-in', { to: wanted === undefined ? '/console' : spaceAddress(wanted) });

/** Where a new user begins: at the request that was sent, or at the space that was wanted. */
function firstPageOf({ outcome }: NewBrand): { readonly to: string; readonly flash: Flash } {
  const { bookingId, wanted, refusal } = outcome;
  if (bookingId !== undefined)
    return {
      to: `/console/bookings/${bookingId}`,
      flash: { kind: 'done', text: 'You are signed up, and your request was sent.' },
    };
  if (wanted === undefined) return { to: '/console', flash: { kind: 'done', text: 'You are signed up.' } };
  return refusal === undefined
    ? {
        to: spaceAddress(wanted),
        flash: { kind: 'done', text: 'You are signed up. Choose a time, and send your request.' },
      }
    : {
        to: spaceAddress(wanted),
        flash: { kind: 'problem', text: `You are signed up, but your request was not sent. ${refusal}` },
      };
}
