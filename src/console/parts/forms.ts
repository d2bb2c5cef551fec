import { randomBytes } from 'node:crypto';
import { eachOf, type Refusal, sentenceWith } from '../../domain/decision.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { type Flags, LABEL, MAX_TYPED_PASSWORD, PASSWORD } from '../../domain/limits.ts';
import { clock } from '../../html/formats.ts';
import { escapeText, flag, type Html, html, type Interpolated, namedText, raw } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { momentInField, shownInField } from './typed-dates.ts';
import type { Form, Problems } from './typed-form.ts';
import type { Visit } from './visit.ts';

export const hasProblems = (problems: Problems): boolean => Object.keys(problems).length > 0;

/**
 * The sentences of a refusal by the field that is wrong, with the labels that people see in place of the names of fields.
 * @param labels labels by field name, in the order of the page
 * @param own for a field that the page shows differently, such as checkboxes for a mask: its name on the page, and the sentence
 */
export function problemOf(
  refusal: Refusal,
  labels: Readonly<Record<string, string>> = {},
  own: Readonly<Record<string, { readonly field: string; readonly text: string }>> = {},
): Problems {
  const problems: Record<string, string> = {};
  const order = Object.keys(labels);
  const placeOf = ({ field = '' }: Refusal): number => order.indexOf(field);
  const nameOf = (field: string): string => (labels[field] === undefined ? field : `“${labels[field]}”`);
  for (const each of eachOf(refusal).toSorted((a, b) => placeOf(a) - placeOf(b))) {
    const { field = '' } = each;
    const instead = own[field];
    if (instead !== undefined) problems[instead.field] = instead.text;
    else problems[labels[field] === undefined ? '' : field] ??= sentenceWith(each, nameOf);
  }
  return problems;
}

type Attributes = Readonly<Record<string, string | number | undefined>>;

const attributes = (all: Attributes): Html =>
  raw(
    Object.entries(all)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => ` ${name}="${escapeText(String(value))}"`)
      .join(''),
  );

type Control = {
  readonly name: string;
  readonly label: string;
  readonly value?: string | number;
  readonly hint?: Interpolated;
  readonly problems?: Problems;
  readonly required?: boolean;
  /** Attributes of the control: min, max, step, maxlength, inputmode, autocomplete and so on. */
  readonly attributes?: Attributes;
};

export type Field = Control & { readonly type?: 'text' | 'number' | 'url' | 'email' | 'password' };

/** An input with its label, hint and error, which are associated with it for screen readers. */
export function field({ type = 'text', value = '', required = false, ...rest }: Field): Html {
  return labelled(rest)`<input id="${rest.name}" name="${rest.name}" type="${type}" value="${String(value)}"
${type === 'text' && raw(' dir="auto"')}${flag('required', required)}${attributes(rest.attributes ?? {})}${ariaOf(rest)}>`;
}

/** What a field shows of a form: the text that was typed into it, and its error. */
export const controlsOf =
  (form: Form, problems: Problems) =>
  <N extends string>(name: N, label: string) => ({ name, label, value: form.text(name), problems });

/** A field for the name of something that is made. */
export const nameField = (form: Form, problems: Problems, name: string, hint: string): Html =>
  field({
    ...controlsOf(form, problems)(name, 'Name'),
    hint,
    required: true,
    attributes: { maxlength: LABEL.max, autocomplete: 'off' },
  });

/** The hint of a field for a new password. */
export const PASSWORD_HINT = `At least ${PASSWORD.min} characters`;

/** A field for a password. */
export const passwordField = ({
  autocomplete,
  isFocused = false,
  ...rest
}: Pick<Field, 'name' | 'label' | 'hint' | 'problems'> & {
  readonly autocomplete: 'current-password' | 'new-password';
  /** Whether the page opens with the cursor in it. */
  readonly isFocused?: boolean;
}): Html =>
  field({
    ...rest,
    type: 'password',
    required: true,
    attributes: { maxlength: MAX_TYPED_PASSWORD, autocomplete, autofocus: isFocused ? '' : undefined },
  });

type DateField = Control & { readonly earliest?: PlainDate };

/**
 * A field for a date. It shows the date as every page does, in every language of the browser, and takes what people type
 * (docs/decisions/console.md); a button beside it opens the browser's own calendar.
 * @param field `value`: a date, or what was typed
 */
export const dateField = (field: DateField): Html => pickable(field, 'date', shownInField);

/** The same for a date and a time (`readMoment`), in a time zone that the hint names. */
export const momentField = (field: DateField): Html => pickable(field, 'moment', momentInField);

function pickable(
  { value = '', required = false, earliest, ...rest }: DateField,
  calendar: 'date' | 'moment',
  textOf: (typed: string) => string,
): Html {
  const { name, label } = rest;
  return labelled(rest)`<span class="pickable">
<input id="${name}" name="${name}" type="text" value="${textOf(String(value))}"
autocomplete="off" spellcheck="false" data-calendar="${calendar}"
${flag('required', required)}${attributes({ 'data-earliest': earliest, ...rest.attributes })}${ariaOf(rest)}><button
type="button" class="button quiet pick" hidden aria-label="${label}: choose from a calendar">${icon('calendar')}</button></span>`;
}

export function textArea({ value = '', required = false, ...rest }: Control): Html {
  return labelled(rest)`<textarea id="${rest.name}" name="${rest.name}" dir="auto"
${flag('required', required)}${attributes(rest.attributes ?? {})}${ariaOf(rest)}>
${String(value)}</textarea>${counter(rest.name, Number(rest.attributes?.maxlength))}`;
}

/** The maximum length of a field. With JavaScript it shows how many characters are typed (`forms.js`). */
export const counter = (name: string, max: number): Html | undefined =>
  max > 0
    ? html`<p class="hint counter" data-counts="${name}">At most ${max.toLocaleString('en')} characters</p>`
    : undefined;

/** A field for a file. With JavaScript, one that is too large is not sent (`forms.js`). */
export const fileField = ({ maxBytes, ...rest }: Described & { readonly maxBytes: number }): Html =>
  labelled(rest)`<input id="${rest.name}" name="${rest.name}" type="file" accept=".csv,text/csv"
data-max-bytes="${String(maxBytes)}" required${ariaOf(rest)}>`;

export type Option = { readonly value: string; readonly label: string };

export function select({ value = '', options, ...rest }: Field & { readonly options: readonly Option[] }): Html {
  return labelled(rest)`<select id="${rest.name}" name="${rest.name}"${ariaOf(rest)}>${options.map(
    (option) =>
      html`<option value="${option.value}"${flag('selected', option.value === String(value))}>${option.label}</option>`,
  )}</select>`;
}

/** The hours at which something begins. */
export const HOUR_OPTIONS: readonly Option[] = Array.from({ length: 24 }, (_, hour) => ({
  value: String(hour),
  label: clock(hour),
}));

type Described = Pick<Control, 'name' | 'label' | 'hint' | 'problems'>;

/** A control with its label, hint and error. The control follows as a template, as after `html`. */
const labelled =
  ({ name, label, hint, problems = {} }: Described) =>
  (...control: Parameters<typeof html>): Html =>
    html`<div class="field"><label for="${name}">${label}</label>
${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${html(...control)}${errorText(name, problems[name])}</div>`;

/** The attributes that associate a control with its hint and its error. */
function ariaOf({ name, hint, problems = {} }: Described): Html {
  const problem = problems[name];
  // Without `counter`, which a screen reader would read with every character.
  const describedBy = [hint && `${name}-hint`, problem && `${name}-error`].filter(Boolean).join(' ');
  return attributes({
    'aria-describedby': describedBy || undefined,
    'aria-invalid': problem === undefined ? undefined : 'true',
  });
}

/** The error below a field. */
export const errorText = (name: string, problem: string | undefined): Html | undefined =>
  problem === undefined
    ? undefined
    : html`<p class="error" id="${name}-error">${icon('warning')}<span>${problem}</span></p>`;

export type Choice = {
  readonly value: string;
  readonly label: Interpolated;
  readonly hint?: Interpolated;
  readonly checked: boolean;
};

/** Checkboxes or radio buttons that share a name. */
export const choices = (
  { name, label, hint, problems = {} }: Described,
  type: 'checkbox' | 'radio',
  list: readonly Choice[],
): Html =>
  html`<fieldset class="field"${attributes({ 'aria-describedby': problems[name] && `${name}-error` })}>
<legend>${label}</legend>${hint && html`<p class="hint">${hint}</p>`}<ul class="choices">${list.map(
    (choice, index) =>
      html`<li><label class="choice"><input${index === 0 && html` id="${name}"`} type="${type}" name="${name}"
value="${choice.value}"${flag('checked', choice.checked)}>
<span class="what"><span>${choice.label}</span>${choice.hint && html`<span class="hint">${choice.hint}</span>`}</span></label></li>`,
  )}</ul>${errorText(name, problems[name])}</fieldset>`;

export const hiddenField = (name: string, value: string | number): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** The sum of the flags whose checkboxes are ticked. */
export const maskOf = (ticked: readonly string[], flags: Flags): number =>
  Object.entries(flags).reduce((mask, [name, value]) => (ticked.includes(name) ? mask | value : mask), 0);

/** The CSRF token, which every form that changes something must carry. */
export const csrfField = ({ csrf }: Pick<Visit, 'csrf'>): Html => hiddenField('csrf', csrf);

/** The token that makes a form take effect once (`Routes.post`), or by which a command recognises a repeated form. */
export const onceField = (name = 'once'): Html => hiddenField(name, randomBytes(15).toString('base64url'));

/** A form that changes something. Its content follows as a template, as after `html`. */
export const postForm =
  (visit: Pick<Visit, 'csrf'>, action: string, classes = '') =>
  (...content: Parameters<typeof html>): Html =>
    html`<form class="${classes}" method="post" action="${action}">${csrfField(visit)}${html(...content)}</form>`;

/** A form that consists of a single button. */
export const actionButton = (
  visit: Pick<Visit, 'csrf'>,
  action: string,
  label: Interpolated,
  classes: '' | 'quiet' | 'small quiet' | 'small' = '',
): Html => postForm(visit, action)`<button class="button ${classes}">${label}</button>`;

type Confirmation = {
  /** Label of the button that opens the confirmation. */
  readonly open: string;
  /** Distinguishes the button from the same one in another row, for screen readers and voice control. */
  readonly name?: string;
  /** Label of the button that confirms. */
  readonly submit: string;
  readonly fields?: Interpolated;
  readonly small?: boolean;
  /** Whether it cannot be undone. Only such buttons are red. */
  readonly removes?: boolean;
};

/**
 * A button that asks for confirmation before it does something that cannot easily be undone. Works without JavaScript. The question follows
 * as a template, as after `html`.
 */
export const confirm =
  (visit: Pick<Visit, 'csrf'>, action: string, { small = true, removes = false, ...of }: Confirmation) =>
  (...question: Parameters<typeof html>): Html => {
    const name = attributes({ 'aria-label': of.name && `${of.open} ${namedText(of.name)}` });
    return html`<details class="confirm${removes && ' removes'}">
<summary class="button ${removes ? 'danger' : 'quiet'}${small && ' small'}"${name}>${of.open}</summary>
${postForm(visit, action, 'ask')`<p>${html(...question)}</p>${of.fields}
<div class="row"><button class="button${removes && ' danger'}">${of.submit}</button></div>`}</details>`;
  };
