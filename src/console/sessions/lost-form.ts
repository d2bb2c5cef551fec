import type { FastifyRequest } from 'fastify';
import { html } from '../../html/html.ts';
import type { Flash } from '../../html/layout.ts';
import { page } from '../../html/layout.ts';
import { Form } from '../parts/visit.ts';
import { isFilledIn } from './kept-form.ts';

/** A form that did nothing, because its session had ended or because it was not made for this one. */
export type LostForm = {
  /** Whether its page will fill it in again, for the user it was made for. */
  readonly filledIn: boolean;
  /** What did not happen: `approved`, `declined`, or `changed`. */
  readonly nothing: string;
  /** The page of the console that the form was on, or one near it. */
  readonly back: string;
  /** What was typed, by the name of the field. Empty if the form came from another site: nobody typed that here. */
  readonly typed: readonly { readonly field: string; readonly text: string }[];
};

/** @param publicUrl the origin of our pages */
export function lostForm(request: FastifyRequest, publicUrl: string): LostForm {
  const { origin, referer = '' } = request.headers;
  const path = new URL(request.url, publicUrl).pathname;
  const isOurs = origin === publicUrl;
  const from = isOurs && URL.canParse(referer) ? new URL(referer) : undefined;
  const near = isFilledIn(path) ? path : (/^\/console\/bookings\/\d+/.exec(path)?.[0] ?? '/console');
  return {
    filledIn: isOurs && isFilledIn(path),
    nothing:
      { approve: 'approved', decline: 'declined', cancel: 'cancelled' }[path.split('/').at(-1) ?? ''] ?? 'changed',
    back: from?.origin === publicUrl ? `${from.pathname}${from.search}` : near,
    typed: isOurs ? typedIn(request.body) : [],
  };
}

/** What forms carry besides what people type, and what is not to be shown. */
const NOT_TYPED =
  /^(?:csrf|once|list|shown|confirmed|id|was|picked|account|seen|price|kept|zone|to|booking|.*password.*)$/i;

function typedIn(body: unknown): LostForm['typed'] {
  const form = new Form(body);
  const names = typeof body === 'object' && body !== null ? Object.keys(body) : [];
  return names
    .filter((name) => !NOT_TYPED.test(name) && form.text(name) !== '')
    .map((name) => ({ field: labelled(name), text: form.text(name) }));
}

/** `startHour` → `Start hour` */
const labelled = (name: string): string => {
  const words = name.replaceAll(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** The page that says so, and keeps what was typed. */
export const lostFormPage = (
  { nothing, typed }: LostForm,
  why: string,
  next: { readonly href: string; readonly label: string },
): string =>
  page({
    title: `Nothing was ${nothing}`,
    main: html`<div class="card stack full"><h1>Nothing was ${nothing}</h1><p>${why}</p>${typed.map(
      ({ field, text }, index) =>
        html`<div class="field"><label for="typed-${index}">${field}, as you typed it</label><textarea id="typed-${index}" readonly dir="auto">
${text}</textarea></div>`,
    )}<a class="button" href="${next.href}">${next.label}</a></div>`,
  });

/** The same for the page that is shown after the next sign-in. Travels in a cookie: what is too long for it is left out. */
export function lostFormFlash({ nothing, typed }: LostForm): Flash {
  const text = `Nothing was ${nothing}: your session had ended.`;
  const kept = [text, ...typed.map(({ field, text }) => `${field}, as you had typed it: ${text}`)].join('\n');
  return { kind: 'notice', text: Buffer.byteLength(kept) <= 2_200 ? kept : text };
}
