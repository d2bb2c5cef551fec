import type {
  TArray,
  TBoolean,
  TEnum,
  TEnumValue,
  TInteger,
  TLiteral,
  TLiteralValue,
  TNull,
  TNumber,
  TObject,
  TOptional,
  TProperties,
  TRecord,
  TSchema,
  TSchemaOptions,
  TString,
  TUnion,
  TUnknown,
  TUnsafe,
} from 'typebox';

export type { Static, TObject, TSchema } from 'typebox';

/**
 * JSON Schemas with the types of the values that they describe. Types and results are those of TypeBox, which is not loaded: its
 * 370 modules take 140 ms and 6 MiB in every thread. Like there, what is no JSON Schema is not enumerable.
 */
export const Type = {
  Array: array,
  Boolean: boolean,
  Enum: enumeration,
  Integer: integer,
  Literal: literal,
  Null: nothing,
  Number: number,
  Object: object,
  Optional: optional,
  Record: record,
  String: string,
  Union: union,
  Unknown: unknown,
  Unsafe: unsafe,
};

function string(options?: TSchemaOptions): TString;
function string(options?: object): object {
  return schema('String', { type: 'string' }, options);
}

function integer(options?: TSchemaOptions): TInteger;
function integer(options?: object): object {
  return schema('Integer', { type: 'integer' }, options);
}

function number(options?: TSchemaOptions): TNumber;
function number(options?: object): object {
  return schema('Number', { type: 'number' }, options);
}

function boolean(options?: TSchemaOptions): TBoolean;
function boolean(options?: object): object {
  return schema('Boolean', { type: 'boolean' }, options);
}

function nothing(options?: TSchemaOptions): TNull;
function nothing(options?: object): object {
  return schema('Null', { type: 'null' }, options);
}

function unknown(options?: TSchemaOptions): TUnknown;
function unknown(options?: object): object {
  return schema('Unknown', {}, options);
}

function literal<V extends TLiteralValue>(value: V, options?: TSchemaOptions): TLiteral<V>;
function literal(value: unknown, options?: object): object {
  return schema('Literal', { type: typeof value, const: value }, options);
}

function enumeration<V extends TEnumValue[]>(values: readonly [...V], options?: TSchemaOptions): TEnum<V>;
function enumeration(values: readonly unknown[], options?: object): object {
  return schema('Enum', { enum: values }, options);
}

function array<T extends TSchema>(items: T, options?: TSchemaOptions): TArray<T>;
function array(items: object, options?: object): object {
  return schema('Array', { type: 'array', items }, options);
}

function union<T extends TSchema[]>(anyOf: [...T], options?: TSchemaOptions): TUnion<T>;
function union(anyOf: readonly object[], options?: object): object {
  return schema('Union', { anyOf }, options);
}

/** An object with any keys. */
function record<V extends TSchema>(key: TString, value: V, options?: TSchemaOptions): TRecord<'^.*$', V>;
function record(_key: object, value: object, options?: object): object {
  return schema('Record', { type: 'object', patternProperties: { '^.*$': value } }, options);
}

function object<P extends TProperties>(properties: P, options?: TSchemaOptions): TObject<P>;
function object(properties: { readonly [name: string]: object }, options?: object): object {
  const required = Object.keys(properties).filter((name) => !Object.hasOwn(properties[name] ?? {}, '~optional'));
  return schema('Object', { type: 'object', ...(required.length > 0 && { required }), properties }, options);
}

/** A property that may be absent. */
function optional<T extends TSchema>(of: T): TOptional<T>;
function optional(of: object): object {
  return marked(of, '~optional', true);
}

/** A schema for values of another type than it says. */
function unsafe<T>(of: TSchema): TUnsafe<T>;
function unsafe(of: object): object {
  return marked(of, '~unsafe', null);
}

/** A schema whose limits are refused in these words, phrased to follow the name of a field (docs/decisions/rest-api.md). */
export function worded<T extends TSchema>(of: T, rule: string): T;
export function worded(of: object, rule: string): object {
  return marked(of, '~rule', rule);
}

const schema = (kind: string, keywords: object, options: object = {}): object =>
  marked({ ...keywords, ...options }, '~kind', kind);

const marked = (of: object, mark: string, value: unknown): object =>
  Object.create(Object.prototype, { ...Object.getOwnPropertyDescriptors(of), [mark]: { value } });
