import { randomBytes } from 'node:crypto';
import type { Refusal } from '../../domain/decision.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { escapeText, flag, type Html, html, type Interpolated, raw } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { momentInField, shownInField } from './typed-dates.ts';
import type { Visit } from './visit.ts';

/** The errors of a form by field; `''` holds the one that concerns the form as a whole. */
export type Problems = Readonly<Record<string, string>>;

export const NO_PROBLEMS: Problems = {};

export const hasProblems = (problems: Problems): boolean => Object.keys(problems).length > 0;

/** The status of a page: 422 if it redisplays a form with errors. */
export const statusOf = (problems: Problems): 200 | 422 => (hasProblems(problems) ? 422 : 200);

/**
 * Assigns what a refusal says to the fields it is about. Each of its sentences starts with the name of a field ("windowEnd must
 * be …"), which is replaced with the label that people see.
 * @param labels labels by field name, in the order of the page
 * @param ours where a page has other fields than the command, such as boxes for a mask: the name of one, and what to say there
 */
export function problemOf(
  refusal: Refusal,
  labels: Readonly<Record<string, string>> = {},
  ours: Readonly<Record<string, { readonly field: string; readonly text: string }>> = {},
): Problems {
  const problems: Record<string, string> = {};
  const order = Object.keys(labels);
  const told = (refusal.each ?? [refusal.details]).map((details) => ({
    details,
    word: details.split(' ', 1)[0] ?? '',
  }));
  for (const { details, word } of told.sort((a, b) => order.indexOf(a.word) - order.indexOf(b.word))) {
    const own = ours[word];
    if (own !== undefined) problems[own.field] = own.text;
    else problems[labels[word] === undefined ? '' : word] ??= withLabels(details, labels);
  }
  return problems;
}

const withLabels = (details: string, labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels).reduce(
    (text, [name, shown]) => text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), `“${shown}”`),
    details,
  );

type Attributes = Readonly<Record<string, string | number | undefined>>;

const attributes = (all: Attributes): Html =>
  raw(
    Object.entries(all)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => ` ${name}="${escapeText(String(value))}"`)
      .join(''),
  );

export type Field = {
  readonly name: string;
  readonly label: string;
  readonly value?: string | number;
  readonly hint?: Interpolated;
  readonly problems?: Problems;
  readonly type?: 'text' | 'number' | 'url' | 'email';
  readonly required?: boolean;
  /** Attributes of the control: min, max, step, maxlength, inputmode, autocomplete and so on. */
  readonly attributes?: Attributes;
};

/** An input with its label, hint and error, which are associated with it for screen readers. */
export function field({ type = 'text', value = '', required = false, ...rest }: Field): Html {
  return framed(
    rest,
    (tied) =>
      html`<input id="${rest.name}" name="${rest.name}" type="${type}" value="${String(value)}"${type === 'text' && raw(' dir="auto"')}${flag('required', required)}${attributes(rest.attributes ?? {})}${tied}>`,
  );
}

type DateField = Omit<Field, 'type'> & { readonly earliest?: PlainDate };

/**
 * A field for a date. It shows the date as every page does, whichever language the browser has, and takes what people type
 * (docs/decisions/console.md); a button beside it opens the browser's own calendar.
 * @param field `value`: a date, or what was typed
 */
export const dateField = (field: DateField): Html => pickable(field, 'date', shownInField);

/** The same for a date and a time (`readMoment`), on a clock that the hint names. */
export const momentField = (field: DateField): Html => pickable(field, 'datetime-local', momentInField);

function pickable(
  { value = '', required = false, earliest, ...rest }: DateField,
  calendar: 'date' | 'datetime-local',
  shown: (typed: string) => string,
): Html {
  return framed(
    rest,
    (tied) =>
      html`<span class="pickable"><input id="${rest.name}" name="${rest.name}" type="text" value="${shown(String(value))}" autocomplete="off" spellcheck="false" data-calendar="${calendar}"${flag('required', required)}${attributes({ 'data-earliest': earliest, ...rest.attributes })}${tied}><button type="button" class="button quiet pick" hidden aria-label="Choose from a calendar">${icon('calendar')}</button></span>`,
  );
}

export function textArea({ value = '', required = false, ...rest }: Field): Html {
  return framed(
    rest,
    (tied) =>
      html`<textarea id="${rest.name}" name="${rest.name}" dir="auto"${flag('required', required)}${attributes(rest.attributes ?? {})}${tied}>
${String(value)}</textarea>`,
  );
}

export type Option = { readonly value: string; readonly label: string };

export function select({ value = '', options, ...rest }: Field & { readonly options: readonly Option[] }): Html {
  return framed(
    rest,
    (tied) =>
      html`<select id="${rest.name}" name="${rest.name}"${tied}>${options.map(
        (option) =>
          html`<option value="${option.value}"${flag('selected', option.value === String(value))}>${option.label}</option>`,
      )}</select>`,
  );
}

function framed(
  { name, label, hint, problems = NO_PROBLEMS }: Omit<Field, 'value' | 'required' | 'type'>,
  control: (tied: Html) => Html,
): Html {
  const problem = problems[name];
  const describedBy = [hint && `${name}-hint`, problem && `${name}-error`].filter(Boolean).join(' ');
  const tied = attributes({
    'aria-describedby': describedBy === '' ? undefined : describedBy,
    'aria-invalid': problem === undefined ? undefined : 'true',
  });
  return html`<div class="field"><label for="${name}">${label}</label>${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}${control(tied)}${errorText(name, problem)}</div>`;
}

/** The error below a field. */
export const errorText = (name: string, problem: string | undefined): Html | undefined =>
  problem === undefined
    ? undefined
    : html`<p class="error" id="${name}-error">${icon('warning')}<span>${problem}</span></p>`;

/**
 * What is wrong with a form, above its fields: the error of the form as a whole, and a link to each field that has one. It gets the
 * focus, so that whoever listens to the page hears it first, and Tab leads to the links.
 */
export function formProblem(problems: Problems): Html | undefined {
  const whole = problems[''];
  const wrong = Object.entries(problems).filter(([name]) => name !== '');
  if (whole === undefined && wrong.length === 0) return undefined;
  const count = wrong.length === 1 ? 'One thing is' : `${wrong.length} things are`;
  return html`<div class="flash problem" role="alert" tabindex="-1" autofocus>${icon('warning')}<div class="stack tight"><p>${whole ?? `${count} not right yet.`}</p>${
    wrong.length > 0 &&
    html`<ul class="bullets">${wrong.map(([name, problem]) => html`<li><a href="#${name}">${problem}</a></li>`)}</ul>`
  }</div></div>`;
}

export type Choice = {
  readonly value: string;
  readonly label: string;
  readonly hint?: Interpolated;
  readonly checked: boolean;
};

/** Checkboxes or radio buttons that share a name. */
export const choices = (
  { name, label, hint, problems = NO_PROBLEMS }: Pick<Field, 'name' | 'label' | 'hint' | 'problems'>,
  type: 'checkbox' | 'radio',
  list: readonly Choice[],
): Html =>
  html`<fieldset class="field"${attributes({ 'aria-describedby': problems[name] && `${name}-error` })}><legend>${label}</legend>${hint && html`<p class="hint">${hint}</p>`}<ul class="choices">${list.map(
    (choice, index) =>
      html`<li><label class="choice"><input${index === 0 && html` id="${name}"`} type="${type}" name="${name}" value="${choice.value}"${flag('checked', choice.checked)}><span class="what">${choice.label}${choice.hint && html`<span class="hint">${choice.hint}</span>`}</span></label></li>`,
  )}</ul>${errorText(name, problems[name])}</fieldset>`;

/** The CSRF token, which every form that changes something must carry. */
export const csrfField = ({ csrf }: Pick<Visit, 'csrf'>): Html =>
  html`<input type="hidden" name="csrf" value="${csrf}">`;

/** The token that makes a form take effect only once: see `Visit.once`. */
export const onceField = (): Html =>
  html`<input type="hidden" name="once" value="${randomBytes(15).toString('base64url')}">`;

/** A form that consists of a single button. */
export const actionButton = (
  visit: Pick<Visit, 'csrf'>,
  action: string,
  label: Interpolated,
  look: '' | 'quiet' | 'small quiet' | 'small' = '',
): Html =>
  html`<form method="post" action="${action}">${csrfField(visit)}<button class="button ${look}">${label}</button></form>`;

/** A button that asks for confirmation before it does something that cannot easily be undone. Works without JavaScript. */
export const confirm = (
  visit: Pick<Visit, 'csrf'>,
  {
    action,
    open,
    question,
    submit,
    fields,
    small = true,
    removes = false,
  }: {
    readonly action: string;
    /** Label of the button that opens the confirmation. */
    readonly open: string;
    readonly question: Interpolated;
    /** Label of the button that confirms. */
    readonly submit: string;
    readonly fields?: Interpolated;
    readonly small?: boolean;
    /** Whether it removes something: only that is red. */
    readonly removes?: boolean;
  },
): Html =>
  html`<details class="confirm${removes && ' removes'}"><summary class="button ${removes ? 'danger' : 'quiet'}${small && ' small'}">${open}</summary><form class="ask" method="post" action="${action}">${csrfField(visit)}<p>${question}</p>${fields}<div class="row"><button class="button${removes && ' danger'}">${submit}</button></div></form></details>`;
