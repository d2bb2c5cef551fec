import { randomBytes } from 'node:crypto';
import type { Refusal } from '../domain/decision.ts';
import { escapeText, flag, type Html, html, type Interpolated, raw } from '../html/html.ts';
import { icon } from '../html/layout.ts';
import type { Visit } from './visit.ts';

/** What is wrong with a form: by field, and what concerns no single one (`''`). */
export type Problems = Readonly<Record<string, string>>;

export const NO_PROBLEMS: Problems = {};

/**
 * A refusal, next to the field it is about. Rules name a field first ("windowEnd must be …"); people read its label.
 * @param labels label by field name
 */
export function problemOf({ details }: Refusal, labels: Readonly<Record<string, string>> = {}): Problems {
  const [word = ''] = details.split(' ', 1);
  const label = labels[word];
  if (label === undefined) return { '': details };
  const named = Object.entries(labels).reduce(
    (text, [name, shown]) => text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), `“${shown}”`),
    details,
  );
  return { [word]: named };
}

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
  readonly type?: 'text' | 'number' | 'date' | 'url' | 'email' | 'datetime-local' | 'month';
  readonly required?: boolean;
  /** Of the control: min, max, step, maxlength, inputmode, autocomplete … */
  readonly attributes?: Attributes;
};

/** Label, hint, control and what is wrong with it, tied together for those who listen. */
export function field({ type = 'text', value = '', required = false, ...rest }: Field): Html {
  return framed(
    rest,
    (tied) =>
      html`<input id="${rest.name}" name="${rest.name}" type="${type}" value="${String(value)}"${flag('required', required)}${attributes(rest.attributes ?? {})}${tied}>`,
  );
}

export function textArea({ value = '', required = false, ...rest }: Field): Html {
  return framed(
    rest,
    (tied) =>
      html`<textarea id="${rest.name}" name="${rest.name}"${flag('required', required)}${attributes(rest.attributes ?? {})}${tied}>
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
  // The first field with something wrong is where the page begins.
  const tied = attributes({
    'aria-describedby': describedBy === '' ? undefined : describedBy,
    'aria-invalid': problem === undefined ? undefined : 'true',
    autofocus: problem === undefined ? undefined : '',
  });
  return html`<div class="field"><label for="${name}">${label}</label>${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}${control(tied)}${errorText(name, problem)}</div>`;
}

/** What is wrong with a field, below it. */
export const errorText = (name: string, problem: string | undefined): Html | undefined =>
  problem === undefined
    ? undefined
    : html`<p class="error" id="${name}-error">${icon('warning')}<span>${problem}</span></p>`;

/** What is wrong with a form as a whole. */
export const formProblem = (problems: Problems): Html | undefined => {
  const problem = problems[''];
  return problem === undefined
    ? undefined
    : html`<div class="flash problem" role="alert">${icon('warning')}<p>${problem}</p></div>`;
};

export type Choice = {
  readonly value: string;
  readonly label: string;
  readonly hint?: Interpolated;
  readonly checked: boolean;
};

/** Check boxes or radio buttons of one name. */
export const choices = (
  { name, label, hint, problems = NO_PROBLEMS }: Pick<Field, 'name' | 'label' | 'hint' | 'problems'>,
  type: 'checkbox' | 'radio',
  list: readonly Choice[],
): Html =>
  html`<fieldset class="field"${attributes({ 'aria-describedby': problems[name] && `${name}-error` })}><legend>${label}</legend>${hint && html`<p class="hint">${hint}</p>`}<ul class="choices">${list.map(
    (choice) =>
      html`<li><label class="choice"><input type="${type}" name="${name}" value="${choice.value}"${flag('checked', choice.checked)}><span class="what">${choice.label}${choice.hint && html`<span class="hint">${choice.hint}</span>`}</span></label></li>`,
  )}</ul>${errorText(name, problems[name])}</fieldset>`;

/** Says that a form came from us; every form that changes something carries it. */
export const csrfField = ({ csrf }: Pick<Visit, 'csrf'>): Html =>
  html`<input type="hidden" name="csrf" value="${csrf}">`;

/** For forms whose sending twice would do something twice: see `Visit.once`. */
export const onceField = (): Html =>
  html`<input type="hidden" name="once" value="${randomBytes(15).toString('base64url')}">`;

/** A button that does one thing to one thing. */
export const actionButton = (
  visit: Pick<Visit, 'csrf'>,
  action: string,
  label: Interpolated,
  look: '' | 'quiet' | 'small quiet' | 'small' = '',
): Html =>
  html`<form method="post" action="${action}">${csrfField(visit)}<button class="button ${look}">${label}</button></form>`;

/** Asks once before something is gone. Opens without a script. */
export const confirm = (
  visit: Pick<Visit, 'csrf'>,
  {
    action,
    open,
    question,
    doIt,
    fields,
    small = true,
  }: {
    readonly action: string;
    /** On the button that asks. */
    readonly open: string;
    readonly question: Interpolated;
    /** On the button that does it. */
    readonly doIt: string;
    readonly fields?: Interpolated;
    readonly small?: boolean;
  },
): Html =>
  html`<details class="confirm"><summary class="button danger${small && ' small'}">${open}</summary><form class="ask" method="post" action="${action}">${csrfField(visit)}<p>${question}</p>${fields}<div class="row"><button class="button danger">${doIt}</button></div></form></details>`;
