import type { JsonSchema } from './components.ts';

/** The parts of an OpenAPI document that this service uses. */

type Example = { readonly summary: string; readonly value: unknown };
export type NamedExamples = { readonly [name: string]: Example };

type Content = {
  readonly 'application/json': { readonly schema: JsonSchema; readonly examples?: NamedExamples | undefined };
};

export type Parameter = {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string | undefined;
  readonly schema: JsonSchema;
  readonly example?: unknown;
};

export type Response = {
  readonly description: string;
  readonly headers?: { readonly [name: string]: JsonSchema };
  readonly content?: Content;
};

export type Operation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  /** Markdown. */
  readonly description: string;
  /** The required permission. */
  readonly 'x-permission'?: string;
  readonly security: readonly { readonly [scheme: string]: readonly string[] }[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: true; readonly content: Content };
  readonly responses: { readonly [status: string]: Response };
};
