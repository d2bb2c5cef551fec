import { Type as TypeBox } from 'typebox';
import { expect, test } from 'vitest';
import { Type } from '../../src/contract/schema.ts';

/** What each function makes, with one of the two. */
const made = (type: Omit<Pick<typeof TypeBox, keyof typeof Type>, 'Record'> & Pick<typeof Type, 'Record'>) => ({
  array: type.Array(type.Integer(), { maxItems: 3 }),
  boolean: type.Boolean({ description: 'Whether.' }),
  enumeration: type.Enum(['a', 'b'], { type: 'string' }),
  integer: type.Integer({ minimum: 1 }),
  literal: type.Literal('a'),
  truth: type.Literal(true, { description: 'Always.' }),
  nothing: type.Null(),
  number: type.Number(),
  object: type.Object({ a: type.String(), b: type.Optional(type.String()) }, { title: 'Object' }),
  extended: type.Object({ ...type.Object({ a: type.Optional(type.String()) }).properties, b: type.Null() }),
  empty: type.Object({}),
  optional: type.Optional(type.Unsafe(type.String({ maxLength: 2 }))),
  record: type.Record(type.String(), type.Number(), { description: 'Counts.' }),
  union: type.Union([type.String(), type.Null()], { title: 'Either' }),
  unknown: type.Unknown(),
  unsafe: type.Unsafe(type.Optional(type.String())),
});

test('schemas are those of TypeBox, including what is not enumerable', () => {
  const [ours, theirs] = [made(Type), made(TypeBox)];
  expect(JSON.stringify(ours)).toBe(JSON.stringify(theirs));
  const marks = (schemas: object) =>
    Object.entries(schemas).map(([name, schema]) => [
      name,
      Object.entries(Object.getOwnPropertyDescriptors(schema))
        .filter(([, { enumerable }]) => !enumerable)
        .map(([mark, { value }]) => [mark, value])
        .sort(),
    ]);
  expect(marks(ours)).toEqual(marks(theirs));
});
