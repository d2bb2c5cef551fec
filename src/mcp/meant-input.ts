import type { TObject } from 'typebox';

type Fields = { readonly [name: string]: unknown };
type Schema = { readonly type?: unknown; readonly items?: unknown };

/**
 * An input as it is meant. Models and libraries that must send every property send null or an empty value for one that they do not use:
 * it counts as absent. Some send numbers and lists as text: a text that can only be that number or list is taken for it.
 */
export function meantInput(input: unknown, schema: TObject): unknown {
  const { properties } = schema;
  const required: readonly string[] = schema.required ?? [];
  if (!isFields(input)) return input;
  const sent = Object.entries(input).filter(([name, value]) => !isEmpty(value) || required.includes(name));
  const meant = sent.map(([name, value]) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return [name, property === undefined ? value : meantValue(value, property)];
  });
  return Object.fromEntries(meant);
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isEmpty = (value: unknown): boolean =>
  value === null || value === '' || (Array.isArray(value) && value.length === 0);

function meantValue(value: unknown, schema: Schema): unknown {
  const { type, items } = schema;
  if (Array.isArray(value) && isFields(items)) return value.map((each) => meantValue(each, items));
  if (typeof value !== 'string') return value;
  if (type === 'integer' && /^\d{1,15}$/.test(value)) return Number(value);
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  if (type === 'array') return meantValue(listIn(value) ?? value, { items });
  return value;
}

function listIn(text: string): unknown {
  try {
    const read: unknown = JSON.parse(text);
    return Array.isArray(read) ? read : undefined;
  } catch {
    return undefined;
  }
}
