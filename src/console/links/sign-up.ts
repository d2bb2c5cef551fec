import type { FastifyReply, FastifyRequest } from 'fastify';
import { LINK_PATHS, SIGN_UP_PATH } from '../../auth/links.ts';
import { HAS_SIGN_IN, type NewBrand, type SignUp, type SignUps, type WantedBooking } from '../../auth/sign-ups.ts';
import { isRefusal, type Refusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { EMAIL, NAME } from '../../domain/limits.ts';
import { tryAgainIn } from '../../html/formats.ts';
import { html, named } from '../../html/html.ts';
import type { Flash } from '../../html/layout.ts';
import { whyRefused } from '../find/refused-request.ts';
import { spacePath } from '../find/space-path.ts';
import { field, hasProblems, onceField, PASSWORD_HINT, passwordField, problemOf } from '../parts/forms.ts';
import { addressOf, type Fields } from '../parts/links.ts';
import type { PageDeps } from '../parts/routes.ts';
import { readDate } from '../parts/typed-dates.ts';
import type { Form, Problems } from '../parts/typed-form.ts';
import { type CardPage, contextOf, donePage, type LinkRoutes, linkForm, sendCard, sendEnded } from './link-page.ts';
import {
  fieldsOf,
  type Offer,
  offerOf,
  problemsIn,
  REQUEST_LABELS,
  requestFields,
  wantedIn,
  wantedView,
  withAskedDay,
} from './sign-up-request.ts';

const CONFIRM = LINK_PATHS.signUp;
const SENT = `${SIGN_UP_PATH}/sent`;
type Deps = {
  readonly signUps: SignUps;
  readonly queries: PageDeps['queries'];
  readonly clock: () => number;
  /** The sign-up that began in a browser, in which its link needs no password. */
  readonly begunIn: {
    get(request: FastifyRequest): string | undefined;
    set(reply: FastifyReply, id: string): void;
  };
  /** Signs a new user in, and shows a message on the first page. */
  readonly firstSignIn: (
    request: FastifyRequest,
    reply: FastifyReply,
    of: Pick<NewBrand, 'user' | 'account'> & {
      readonly flash: Flash;
      readonly to: string;
      readonly form?: { readonly path: string; readonly fields: Fields };
    },
  ) => Promise<FastifyReply>;
};

/** Signing up a brand, with the request that it begins with: the form, and the page that its link opens. */
export function signUpRoutes(routes: LinkRoutes, deps: Deps): void {
  const { get, post } = routes;
  const { signUps, begunIn, firstSignIn } = deps;

  async function signUpPage(form: Form, problems: Problems = {}): Promise<CardPage> {
    const wanted = wantedIn(form);
    return pageOf(form, problems, wanted, wanted && (await offerOf(deps.queries.published, wanted, deps.clock())));
  }

  async function refused(reply: FastifyReply, form: Form, refusal: Refusal): Promise<FastifyReply> {
    const { retryAfter } = refusal;
    if (retryAfter === undefined) return sendCard(reply, await signUpPage(form, problemOf(refusal, LABELS)));
    reply.header('retry-after', retryAfter);
    const problem = `${refusal.details} ${tryAgainIn(retryAfter * 1_000)}`;
    return sendCard(reply, await signUpPage(form, { '': problem }), 429);
  }

  get(SIGN_UP_PATH, async (query, _request, reply) => sendCard(reply, await signUpPage(query), 200));

  // Status, text and work are the same for every address: it is looked up only when the mail is written.
  post(SIGN_UP_PATH, async (form, request, reply) => {
    const other = withAskedDay(form, SHOWN_AGAIN);
    if (other !== undefined) return sendCard(reply, await signUpPage(other), 200);
    const wanted = wantedIn(form);
    const typed = {
      brandName: form.text('brandName'),
      email: form.text('email'),
      password: form.password(),
      ...defined({ wanted }),
    };
    const { problem } = form.text('date') === '' ? {} : readDate(form.text('date'));
    if (problem !== undefined) return sendCard(reply, await signUpPage(form, { date: problem }));
    const offer = wanted && (await offerOf(deps.queries.published, wanted, deps.clock()));
    if (wanted !== undefined && hasProblems(problemsIn(wanted, offer))) return sendCard(reply, await signUpPage(form));
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
    if (!isRefusal(brand)) return firstSignIn(request, reply, { ...brand, ...(await firstPageOf(deps, brand)) });
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
  ...REQUEST_LABELS,
} as const;

/** The fields that the page shows again: all but the password. */
const SHOWN_AGAIN = ['space', 'brandName', 'email', ...Object.keys(REQUEST_LABELS)];

function pageOf(form: Form, wrong: Problems, wanted: WantedBooking | undefined, offer: Offer | undefined): CardPage {
  // What the address asks for may have become impossible since it was made.
  const problems = wanted === undefined ? wrong : { ...problemsIn(wanted, offer), ...wrong };
  const texts = Object.values(problems);
  const request = wanted && requestFields(form, wanted, problems, offer);
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
const spaceAddress = ({ spaceId, date, startHour }: WantedBooking): string =>
  addressOf(spacePath(spaceId, {}), defined({ date, start: startHour?.toString() }) satisfies Fields);

const signInFor = (wanted: WantedBooking | undefined): string =>
  addressOf('/console/sign-in', { to: wanted === undefined ? '/console' : spaceAddress(wanted) });

type FirstPage = Pick<Parameters<Deps['firstSignIn']>[2], 'to' | 'flash' | 'form'>;

/** Where a new user begins: at the request that was sent, or at the space that was wanted, with what was typed. */
async function firstPageOf({ queries, clock: now }: Deps, { account, outcome }: NewBrand): Promise<FirstPage> {
  const { bookingId, wanted, refusal } = outcome;
  if (bookingId !== undefined)
    return {
      to: `/console/bookings/${bookingId}`,
      flash: { kind: 'done', text: 'You are signed up, and your request was sent.' },
    };
  if (wanted === undefined) return { to: '/console', flash: { kind: 'done', text: 'You are signed up.' } };
  const { space: _, ...fields } = fieldsOf(wanted);
  const shown = { to: spaceAddress(wanted), form: { path: spacePath(wanted.spaceId, {}), fields } };
  if (refusal === undefined)
    return {
      ...shown,
      flash: { kind: 'done', text: 'You are signed up. Choose a time, and send your request.' },
    };
  const space = await queries.spaces.get(account, wanted.spaceId);
  const { date, startHour } = wanted;
  const isKnown = space !== undefined && date !== undefined && startHour !== undefined;
  const why = isKnown
    ? Object.values(await whyRefused(queries, { account, now: now() }, space, { date, startHour }, refusal)).join(' ')
    : refusal.details;
  return { ...shown, flash: { kind: 'problem', text: `You are signed up, but your request was not sent. ${why}` } };
}
