import { Ajv, type ErrorObject } from 'ajv';
import { isPlainDate } from '../domain/calendar.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { lengthRule, rangeRule } from '../domain/limits.ts';
import { unicodeProblem } from '../domain/unicode.ts';

type Schema = { readonly properties?: { readonly [name: string]: unknown } };

// Verbose: an error carries its schema and the value.
const ajv = new Ajv({ allErrors: true, strict: true, verbose: true });
ajv.addFormat('date', isPlainDate);

/**
 * Checks the input of a tool. Refuses it with everything that is wrong and what would be right (`ValidationError`): a model
 * corrects a call in one step if it is told the allowed values and the property that does not exist.
 */
export function inputCheck<I extends object>(tool: string, schema: Schema): (input: unknown) => I | Refusal {
  const validate = ajv.compile<I>(schema);
  const taken = Object.keys(schema.properties ?? {}).join(', ');
  const takes = taken === '' ? 'takes none' : `takes ${taken}`;

  function problemOf(error: ErrorObject): string {
    const { instancePath, keyword, params, data } = error;
    const path = instancePath.slice(1).replaceAll('/', '.');
    const within = path === '' ? '' : `${path}.`;
    if (keyword === 'additionalProperties')
      return `There is no property "${shortened(String(params.additionalProperty))}": ${tool} ${takes}`;
    if (keyword === 'required') return `${within}${params.missingProperty} is required`;
    return `${path === '' ? 'The input' : path} ${ruleOf(error)}, not ${given(error, data)}`;
  }

  return (input) => {
    const notText = unicodeProblem(input, 'The input');
    if (notText !== undefined) return refuse('ValidationError', `${notText}.`);
    if (validate(input)) return input;
    const problems = new Set((validate.errors ?? []).map(problemOf));
    return refuse('ValidationError', `${[...problems].join('. ')}.`);
  };
}

const KINDS: { readonly [type: string]: string } = {
  integer: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** The rule that a value breaks, in the words of `limits.ts` where it is one of its rules. */
function ruleOf({ keyword, params, message = 'is invalid', parentSchema = {}, data }: ErrorObject): string {
  const { type, minLength = 0, maxLength, minimum, maximum }: { [keyword: string]: unknown } = parentSchema;
  if (keyword === 'enum' && Array.isArray(params.allowedValues))
    return `must be one of ${params.allowedValues.join(', ')}`;
  if (keyword === 'format') return 'must be a date in the form YYYY-MM-DD';
  if (typeof data === 'string' && typeof minLength === 'number' && typeof maxLength === 'number')
    return lengthRule({ min: minLength, max: maxLength });
  if (typeof data === 'number' && type === 'integer' && typeof minimum === 'number' && typeof maximum === 'number')
    return rangeRule({ min: minimum, max: maximum, step: 1 });
  if (keyword === 'maxItems') return `must have at most ${params.limit} entries`;
  if (keyword === 'minItems') return `must have at least ${params.limit} ${params.limit === 1 ? 'entry' : 'entries'}`;
  if (keyword === 'uniqueItems') return 'must not have the same entry twice';
  if (keyword === 'type') return `must be ${KINDS[String(params.type)] ?? params.type}`;
  return message;
}

function given({ keyword }: ErrorObject, data: unknown): string {
  if (typeof data === 'string' && (keyword === 'minLength' || keyword === 'maxLength'))
    return String(Array.from(data).length);
  if (Array.isArray(data) && (keyword === 'minItems' || keyword === 'maxItems')) return String(data.length);
  return typeof data === 'string' ? `"${shortened(data)}"` : shortened(JSON.stringify(data) ?? 'nothing');
}

/** Enough to recognise it. */
const MAX_ECHO = 40;
const shortened = (text: string) => (text.length > MAX_ECHO ? `${text.slice(0, MAX_ECHO)}…` : text);
