import {
  type CallToolResult,
  fromJsonSchema,
  type JsonSchemaType,
  type McpServer,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server';
import { type Access, refuseAccess } from '../auth/access.ts';
import type { Caller } from '../auth/caller.ts';
import type { ErrorCode } from '../contract/errors.ts';
import type { Static, TObject } from '../contract/schema.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import { inputCheck } from './input-check.ts';

/** The caller and the id of the request. */
export type ToolCall = { readonly caller: Caller; readonly correlationId: string };

export type Tool = { register(server: McpServer, call: ToolCall): void };

type Definition<I extends TObject, O extends TObject> = {
  readonly name: string;
  readonly title: string;
  /** Written for the model that chooses the tool. */
  readonly description: string;
  readonly input: I;
  readonly output: O;
  /** The same as for the corresponding REST route. */
  readonly access: Access;
  readonly readOnly: boolean;
  /** What the model should try next, by error code. */
  readonly advice?: { readonly [C in ErrorCode]?: string };
  run(input: Static<I>, call: ToolCall): Promise<Static<O> | Refusal>;
};

/**
 * Defines a tool. The caller's permissions and account are checked as for REST; a refusal becomes a tool error with advice on
 * what to do about it.
 */
export function tool<I extends TObject, O extends TObject>(definition: Definition<I, O>): Tool {
  const { name, title, description, access, readOnly } = definition;
  const schema = asJsonSchema(definition.input);
  const checked = inputCheck<Static<I>>(name, schema);
  // Lets everything through: the SDK would not say which values are allowed, or which property does not exist.
  const inputSchema: StandardSchemaWithJSON = {
    '~standard': {
      version: 1,
      vendor: 'venue-booking',
      jsonSchema: { input: () => schema, output: () => schema },
      validate: (value) => ({ value }),
    },
  };
  const outputSchema = fromJsonSchema<Static<O>>(asJsonSchema(definition.output));
  const annotations = {
    title,
    readOnlyHint: readOnly,
    destructiveHint: false,
    // Tools that write take an idempotency key.
    idempotentHint: true,
    openWorldHint: false,
  };
  return {
    register(server, call) {
      server.registerTool(
        name,
        { title, description, inputSchema, outputSchema, annotations },
        async (input): Promise<CallToolResult> => {
          try {
            const wanted = refuseAccess(call.caller, access) ?? checked(input);
            const outcome = isRefusal(wanted) ? wanted : await definition.run(wanted, call);
            if (isRefusal(outcome)) return failed(outcome, definition.advice?.[outcome.refused]);
            return { content: [{ type: 'text', text: JSON.stringify(outcome) }], structuredContent: { ...outcome } };
          } catch (error) {
            // A tool error, too, so that the model knows it may try again.
            if (isUnavailable(error)) return notAvailable(error.told);
            throw error;
          }
        },
      );
    },
  };
}

const notAvailable = (told = 'The service cannot answer this at the moment'): CallToolResult => ({
  isError: true,
  content: [{ type: 'text', text: `InternalError: ${told}. Retrying in a few seconds is safe.` }],
});

function failed({ refused, details }: Refusal, advice: string | undefined): CallToolResult {
  const text = advice === undefined ? `${refused}: ${details}` : `${refused}: ${details} ${advice}`;
  return { isError: true, content: [{ type: 'text', text }] };
}

/** TypeBox schemas are JSON Schema plus symbols, which serialising drops. */
const asJsonSchema = (schema: TObject): JsonSchemaType => JSON.parse(JSON.stringify(schema));
