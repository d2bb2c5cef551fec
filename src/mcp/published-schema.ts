import type { TObject } from 'typebox';

type Json = { readonly [key: string]: unknown };

/**
 * The schema of an input as clients see it. Strict modes make every property required and keep its type, so an optional one also takes
 * null, in the form of the Python SDK, which every converter knows. `format` and `uniqueItems` are left out, because Gemini and the
 * strict mode of OpenAI refuse them; the server still checks them.
 */
export function publishedInput({ properties, ...rest }: TObject): Json {
  const required: readonly string[] = rest.required ?? [];
  const published = Object.entries(properties).map(([name, property]) => {
    const { description, ...type } = publishedSchema(property);
    return [
      name,
      required.includes(name) ? { description, ...type } : { description, anyOf: [type, { type: 'null' }] },
    ];
  });
  return { ...publishedSchema(rest), properties: Object.fromEntries(published) };
}

/** A schema without the keywords that some models' converters refuse. Serialising drops TypeBox's own properties. */
export const publishedSchema = (schema: object): Json =>
  JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      (key === 'format' && typeof value === 'string') || (key === 'uniqueItems' && typeof value === 'boolean')
        ? undefined
        : value,
    ),
  );
