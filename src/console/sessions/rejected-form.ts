import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from '../../html/html.ts';
import { type Flash, page, sendPage, sendProblem } from '../../html/layout.ts';
import type { Link } from '../parts/answer.ts';
import { Form } from '../parts/typed-form.ts';
import type { Cookies } from './cookies.ts';
import { restoringPage, saveForm } from './restored-form.ts';
import type { Sessions } from './sessions.ts';

/** A form that had no effect, because its session had ended, it belongs to another session, or its account sent too many. */
type RejectedForm = {
  /** Whether its page fills it in again after the next sign-in, for the user it was made for. */
  readonly isRestorable: boolean;
  /** The action that had no effect: `approved`, `declined`, or `changed`. */
  readonly action: string;
  /** The page of the console that the form was on, or one near it. */
  readonly back: string;
  /** The input by field label. Empty if the form came from another site: our user did not type that. */
  readonly typed: readonly { readonly field: string; readonly text: string }[];
};

/** How long a message is kept until the reader signs in, in seconds. */
const SIGN_IN_SECONDS = 600;
/** Maximum size of a message with input, in bytes. It is stored in a cookie. */
const MAX_BYTES = 2_200;

/** Dependencies of the checks of forms and sessions. */
export type SessionDeps = {
  readonly sessions: Sessions;
  readonly cookies: Cookies;
  readonly publicUrl: string;
  /** Counts one more refused form of a network. @returns the seconds to wait if there were too many */
  readonly countRefusal: (request: FastifyRequest) => Promise<number | undefined>;
  /** The seconds to wait if a network has sent too many already. */
  readonly waitAfterRefusals: (request: FastifyRequest) => Promise<number | undefined>;
};

/** Why a form had no effect. */
export type Rejection =
  | { readonly reason: 'sessionEnded'; readonly signInUrl: (to: string) => string }
  /** The form is of another session or account, or from another site. */
  | { readonly reason: 'foreign' }
  | { readonly reason: 'tooMany'; readonly retryAfterSeconds: number };

/** Answers a form that had no effect: says so, shows the input if the body was read, and links back to its page. */
export async function rejectForm(
  { cookies, sessions, publicUrl, countRefusal }: SessionDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  rejection: Rejection,
): Promise<FastifyReply> {
  const waitSeconds = await countRefusal(request);
  if (waitSeconds !== undefined) return sendTooManyForms(reply, waitSeconds);
  const isEnded = rejection.reason === 'sessionEnded';
  const form = rejectedForm(request, publicUrl);
  const owner = sessions.ownerOf(new Form(request.body).text('csrf'));
  if (form.isRestorable) saveForm(cookies, request, reply, owner);
  else if (isEnded && form.typed.length > 0) cookies.setFlash(reply, messageAfterSignIn(form), owner, SIGN_IN_SECONDS);
  if (isEnded) {
    const next = { href: rejection.signInUrl(form.back), label: 'Sign in to review and resend' };
    return sendPage(reply, 401, rejectionPage(form, 'Your session has ended.', next));
  }
  const label = form.back === '/console' ? 'Go to the console' : 'Open the page again';
  const next = { href: form.back, label };
  if (rejection.reason === 'tooMany') {
    const seconds = rejection.retryAfterSeconds;
    const why = `This account has made too many changes within a minute. Try again in ${seconds} s.`;
    return sendPage(reply.header('retry-after', seconds), 429, rejectionPage(form, why, next));
  }
  const why = 'This form is out of date, belongs to another account, or did not come from this site.';
  return sendPage(reply, 403, rejectionPage(form, why, next));
}

/** Costs as little as possible, because it may be an attack. */
export const sendTooManyForms = (reply: FastifyReply, seconds: number): FastifyReply =>
  sendProblem(
    reply.header('retry-after', seconds),
    429,
    'Too many forms',
    `Nothing was done. Try again in ${seconds} seconds.`,
    { href: '/console', label: 'Go to the console' },
  );

function rejectedForm(request: FastifyRequest, publicUrl: string): RejectedForm {
  const { origin, referer = '' } = request.headers;
  const path = new URL(request.url, publicUrl).pathname;
  const isOurs = origin === publicUrl;
  const from = isOurs && URL.canParse(referer) ? new URL(referer) : undefined;
  const page = restoringPage(path);
  const near = page ?? /^\/console\/bookings\/\d+/.exec(path)?.[0] ?? '/console';
  const actions: Readonly<Record<string, string>> = { approve: 'approved', decline: 'declined', cancel: 'cancelled' };
  return {
    isRestorable: isOurs && request.body !== undefined && page !== undefined,
    action: actions[path.split('/').at(-1) ?? ''] ?? 'changed',
    back: from?.origin === publicUrl ? `${from.pathname}${from.search}` : near,
    typed: isOurs ? typedIn(request.body) : [],
  };
}

/**
 * The fields of our forms that people type into, with their labels. Nothing else of a form is shown: names and texts that no form of ours
 * has may come from anywhere.
 */
export const TYPED_FIELDS = {
  name: 'Name',
  windowStart: 'Window start',
  windowEnd: 'Window end',
  durationHours: 'Duration hours',
  eventFee: 'Event fee',
  answerHours: 'Answer hours',
  date: 'Date',
  startHour: 'Start hour',
  guests: 'Guests',
  message: 'Message',
  text: 'Message',
  note: 'Note',
  answer: 'Answer',
  reason: 'Reason',
  rating: 'Rating',
  title: 'Title',
  content: 'Content',
  label: 'Label',
  url: 'URL',
  since: 'Since',
  email: 'Address',
  role: 'Role',
  contact: 'Contact',
  discountPercent: 'Discount',
  newFee: 'Agreed fee',
  kind: 'Kind',
  about: 'About',
  seated: 'Guests, seated',
  standing: 'Guests, standing',
  area: 'Area',
  ownAmenities: 'Further amenities',
  languages: 'Languages spoken',
  access: 'Floor and access',
  houseRules: 'House rules',
  street: 'Street and number',
  postalCode: 'Postal code',
  city: 'Town or city',
  country: 'Country',
  coordinates: 'Coordinates',
  directions: 'How to get there',
  website: 'Website',
  sites: 'Websites that show calendars',
  alt: 'What a photo shows',
  customer: 'Customer',
  every: 'Repeat',
  until: 'Last day',
  days: 'Other days',
} as const;

function typedIn(body: unknown): RejectedForm['typed'] {
  const form = new Form(body);
  return Object.entries(TYPED_FIELDS)
    .flatMap(([name, field]) => form.all(name).map((text) => ({ field, text: text.trim() })))
    .filter(({ text }) => text !== '');
}

const rejectionPage = ({ action, typed }: RejectedForm, why: string, next: Link): string =>
  page({
    title: `Nothing was ${action}`,
    main: html`<div class="card stack full"><h1>Nothing was ${action}</h1><p>${why}</p>${typed.map(
      ({ field, text }, index) =>
        html`<div class="field"><label for="typed-${index}">${field}, as you typed it</label>
<textarea id="typed-${index}" readonly dir="auto">
${text}</textarea></div>`,
    )}<a class="button" href="${next.href}">${next.label}</a></div>`,
  });

/** The message after the next sign-in. Leaves out input that is too long. */
function messageAfterSignIn({ action, typed }: RejectedForm): Flash {
  const text = `Nothing was ${action}: your session had ended.`;
  const all = [text, ...typed.map(({ field, text }) => `${field}, as you typed it: ${text}`)].join('\n');
  return { kind: 'notice', text: Buffer.byteLength(all) <= MAX_BYTES ? all : text };
}
