import type { Static, TObject } from 'typebox';
import { checkerOf, pathOf, ruleOf, type Violation } from '../contract/schemas/validate.ts';
import { cutText } from '../domain/cut-text.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { textProblem } from '../domain/unicode.ts';
import { withCursorFilters } from './lists.ts';
import { meantInput } from './meant-input.ts';

/**
 * Checks the input of a tool. The refusal lists every error with the allowed values and unknown properties (`ValidationError`), so that a
 * model can correct a call in one step.
 */
export function inputCheck<I extends TObject>(tool: string, schema: I): (input: unknown) => Static<I> | Refusal {
  const check = checkerOf(schema);
  const names = Object.keys(schema.properties).join(', ');
  const takes = names === '' ? 'takes none' : `takes ${names}`;

  function problemOf(violation: Violation): string {
    const { keyword, params, data } = violation;
    const path = pathOf(violation);
    if (keyword === 'additionalProperties')
      return `There is no property "${shortened(String(params.additionalProperty))}": ${tool} ${takes}`;
    if (keyword === 'required') return `${path === '' ? '' : `${path}.`}${params.missingProperty} is required`;
    return `${path === '' ? 'The input' : path} ${ruleOf(violation)}, not ${given(keyword, data)}`;
  }

  const hasCursor = 'cursor' in schema.properties;

  return (sent) => {
    const unusable = textProblem(sent, 'The input');
    if (unusable !== undefined) return refuse('ValidationError', `${unusable}.`);
    const meant = meantInput(sent, schema);
    const input = hasCursor && typeof meant === 'object' && meant !== null ? withCursorFilters({ ...meant }) : meant;
    if (isRefusal(input)) return input;
    // Again, because JSON within a text may escape what no text may have.
    const hidden = textProblem(input, 'The input');
    if (hidden !== undefined) return refuse('ValidationError', `${hidden}.`);
    const checked = check(input);
    if ('value' in checked) return checked.value;
    const problems = new Set(checked.violations.map(problemOf));
    return refuse('ValidationError', `${[...problems].join('. ')}.`);
  };
}

/** The value that breaks a rule, or its length if that breaks it. */
function given(keyword: string, data: unknown): string {
  if (typeof data === 'string' && (keyword === 'minLength' || keyword === 'maxLength'))
    return String(Array.from(data).length);
  if (Array.isArray(data) && (keyword === 'minItems' || keyword === 'maxItems')) return String(data.length);
  return typeof data === 'string' ? `"${shortened(data)}"` : shortened(JSON.stringify(data) ?? 'nothing');
}

/** Characters of a value that a refusal repeats: enough to recognise it. */
const MAX_ECHO = 40;
const shortened = (text: string) => cutText(text, MAX_ECHO + 1);
