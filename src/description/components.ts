import { isObject } from '../domain/is-object.ts';

/** A JSON Schema in the description. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Collects the schemas that have a title, which is their name in the description. */
export type Components = {
  /** The schemas by name. */
  readonly schemas: { readonly [name: string]: JsonSchema };
  /**
   * A schema with a title becomes a reference, one without is written out.
   * @throws {Error} if another schema has the same title
   */
  refer(schema: object): JsonSchema;
};

/** Generators read a number without a format as 32 bits wide. Every integer that has no limit of its own may be an id. */
const formatOf = ({ type, maximum }: JsonSchema): JsonSchema => {
  if (type === 'number') return { format: 'double' };
  return type === 'integer' && maximum === Number.MAX_SAFE_INTEGER ? { format: 'int64' } : {};
};

export function createComponents(): Components {
  const schemas: Record<string, JsonSchema> = {};
  const sources = new Map<string, string>();

  function refer(schema: JsonSchema): JsonSchema {
    const { title, ...rest } = schema;
    if (typeof title !== 'string') return written(rest);
    const source = JSON.stringify(rest);
    const other = sources.get(title);
    if (other !== undefined && other !== source) throw new Error(`Two different schemas are called ${title}`);
    if (other === undefined) {
      sources.set(title, source);
      schemas[title] = written(rest);
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  function written({ properties, patternProperties, items, anyOf, ...rest }: JsonSchema): JsonSchema {
    return {
      ...rest,
      ...formatOf(rest),
      ...(isObject(properties) && { properties: each(properties) }),
      // The only pattern matches any name; generators support this keyword for it.
      ...(isObject(patternProperties) && { additionalProperties: Object.values(each(patternProperties))[0] }),
      ...(isObject(items) && { items: refer(items) }),
      ...(Array.isArray(anyOf) && { anyOf: anyOf.map(refer) }),
    };
  }

  const each = (properties: JsonSchema): JsonSchema =>
    Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, isObject(schema) ? refer(schema) : schema]),
    );

  return { schemas, refer: (schema) => refer({ ...schema }) };
}
