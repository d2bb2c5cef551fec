import { isObject } from '../domain/is-object.ts';
import type { JsonSchema } from './components.ts';
import type { ApiDescription } from './openapi.ts';

/**
 * The description as OpenAPI 3.0, for generators that read no 3.1. It lacks the deliveries, which 3.0 cannot describe, with the schemas
 * that only they use. Everything else is the same: our schemas have nothing else that 3.0 says otherwise than `const`.
 */
export function asOpenApi30({ info, webhooks: _webhooks, components, ...rest }: ApiDescription): object {
  const { summary: _summary, license, ...further } = info;
  const operations = inTermsOf30(rest.paths);
  return {
    ...rest,
    openapi: '3.0.3',
    info: { ...further, license: { name: license.name, url: LICENSE_URL } },
    paths: operations,
    components: { ...components, schemas: usedBy(operations, components.schemas) },
  };
}

/** OpenAPI 3.0 knows no SPDX identifiers. */
const LICENSE_URL = 'https://spdx.org/licenses/MIT.html';

function inTermsOf30(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(inTermsOf30);
  if (!isObject(part)) return part;
  const { const: only, ...rest } = part;
  const converted = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, inTermsOf30(value)]));
  return typeof only === 'string' && rest.type === 'string' ? { ...converted, enum: [only] } : converted;
}

/** The schemas that `paths` refers to, also through other schemas. */
function usedBy(
  paths: unknown,
  schemas: { readonly [name: string]: JsonSchema },
): { readonly [name: string]: unknown } {
  const used = new Set<string>();
  const follow = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      follow(schemas[name]);
    }
  };
  follow(paths);
  const entries = Object.entries(schemas).filter(([name]) => used.has(name));
  return Object.fromEntries(entries.map(([name, schema]) => [name, inTermsOf30(schema)]));
}
