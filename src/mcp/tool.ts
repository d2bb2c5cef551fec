import type { CallToolResult, McpServer, StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type { Static, TObject } from 'typebox';
import { type Access, refuseAccess, refuseAmounts } from '../auth/access.ts';
import { actorOf, type Caller, userOf } from '../auth/caller.ts';
import type { CommandContext } from '../commands/command-handler.ts';
import type { Commands } from '../commands/commands.ts';
import type { ErrorCode } from '../contract/schemas/errors.ts';
import { checkerOf, pathOf, ruleOf } from '../contract/schemas/validate.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import { seesAmounts } from '../domain/roles.ts';
import { withoutAmounts } from '../domain/shown-amounts.ts';
import { within } from '../event-loop/within.ts';
import type { Trace } from '../http/trace.ts';
import type { Queries } from '../queries/queries.ts';
import type { Clock } from '../runtime/clock.ts';
import {
  isUnavailable,
  OutcomeUnknown,
  publicMessageOf,
  Unavailable,
  type UnavailableError,
} from '../runtime/unavailable.ts';
import { inputCheck } from './input-check.ts';
import { publishedInput, publishedSchema } from './published-schema.ts';
import { visible } from './visible-text.ts';

/** Dependencies of the tools. */
export type ToolDeps = {
  readonly commands: Commands;
  readonly queries: Queries;
  readonly clock: Clock;
  readonly pricing: { readonly serviceFeePercent: number; readonly currency: string; readonly publicUrl: string };
};

export type ToolCall = {
  readonly caller: Caller;
  /** The id of the request. */
  readonly correlationId: string;
  readonly trace: Trace;
  /** Deadline of the answer, by `performance.now()`. */
  readonly answerBy: number;
  /** Whether the client has disconnected. */
  readonly isDisconnected: () => boolean;
};

/** The context of a command that a tool runs. The texts are those of the user for whom the app acts. */
export const contextOf = ({ caller, correlationId, trace }: ToolCall): CommandContext => ({
  actor: actorOf(caller),
  userId: userOf(caller),
  correlationId,
  ...trace,
});

export type Tool = {
  /** Whether the tool is listed for a caller. Tools that a kind of account can never use are hidden from it. */
  isFor(caller: Caller): boolean;
  register(server: McpServer, call: ToolCall): void;
};

/** A refusal, with advice of its own if that of its code does not fit. */
type Advised = Refusal & { readonly advice?: string };

type Definition<I extends TObject, O extends TObject> = {
  readonly name: string;
  readonly title: string;
  /** Written for the model that chooses the tool. */
  readonly description: string;
  readonly input: I;
  readonly output: O;
  /** The same as for the corresponding REST route, if there is one. Without it, any connected client may call the tool. */
  readonly access?: Access;
  readonly writes: false | 'adds' | 'destroys';
  /** Advice to the model, by error code. */
  readonly advice?: { readonly [C in ErrorCode]?: string };
  run(input: Static<I>, call: ToolCall): Promise<Static<O> | Advised>;
};

/** Defines a tool. Checks the caller's permissions and account as REST does, and turns a refusal into a tool error with advice. */
export function tool<I extends TObject, O extends TObject>(definition: Definition<I, O>): Tool {
  const { name, title, description, access, writes } = definition;
  const checked = inputCheck(name, definition.input);
  // Accepts everything, because the SDK's own errors do not name the allowed values or the unknown property.
  const inputSchema = standardSchema(publishedInput(definition.input), (value) => ({ value }));
  const checkOutput = checkerOf(definition.output);
  const outputSchema = standardSchema(publishedSchema(definition.output), (value) => {
    const result = checkOutput(value);
    if ('value' in result) return result;
    return { issues: result.violations.map((violation) => ({ message: `${pathOf(violation)} ${ruleOf(violation)}` })) };
  });
  /** Limits a call to its deadline. The response may already be an event stream, so only the tool can report that it is late. */
  const answered = <R>(running: Promise<R>, { answerBy }: ToolCall): Promise<R> =>
    within(answerBy - performance.now(), running, () =>
      writes === false ? new Unavailable(LATE, undefined, LATE) : new OutcomeUnknown(LATE),
    );
  const annotations = {
    title,
    readOnlyHint: writes === false,
    destructiveHint: writes === 'destroys',
    // Tools that add take an idempotency key, and repeating a cancellation changes nothing.
    idempotentHint: true,
    openWorldHint: false,
  };
  const refuseCaller = (caller: Caller) => (access === undefined ? undefined : refuseAccess(caller, access));
  return {
    isFor: (caller) => access?.scope === undefined || access.scope === caller.account.kind,
    register(server, call) {
      server.registerTool(
        name,
        { title, description, inputSchema, outputSchema, annotations },
        async (input): Promise<CallToolResult> => {
          try {
            const refused = refuseCaller(call.caller);
            const wanted = refused === undefined ? checked(input) : undefined;
            // An input error already names the fix. The advice is for refusals by the rules.
            if (isRefusal(wanted)) return failed(wanted);
            const unseen = refused ?? refuseAmounts(call.caller, wanted);
            const outcome =
              wanted === undefined || unseen !== undefined
                ? unseen
                : await answered(definition.run(wanted, call), call);
            if (isRefusal(outcome)) {
              const { advice = definition.advice?.[outcome.refused] }: Advised = outcome;
              return failed(outcome, advice);
            }
            const structuredContent = visible(seesAmounts(call.caller.role) ? outcome : withoutAmounts(outcome));
            return {
              content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
              structuredContent: { ...structuredContent },
            };
          } catch (error) {
            // A tool error, not a protocol error, because a model may repeat a call that ended in one.
            if (isUnavailable(error)) return notAvailable(error);
            throw error;
          }
        },
      );
    },
  };
}

const LATE = 'The service did not answer in time';

function notAvailable(error: UnavailableError): CallToolResult {
  const advice =
    error instanceof OutcomeUnknown
      ? 'Call the tool again with the same input: that is safe, and returns the outcome.'
      : 'Retrying in a few seconds is safe.';
  return { isError: true, content: [{ type: 'text', text: `InternalError: ${publicMessageOf(error)}. ${advice}` }] };
}

function failed({ refused, details }: Refusal, advice?: string): CallToolResult {
  const text = advice === undefined ? `${refused}: ${details}` : `${refused}: ${details} ${advice}`;
  return { isError: true, content: [{ type: 'text', text }] };
}

/** A JSON Schema in the form that the SDK takes. */
function standardSchema(
  json: Record<string, unknown>,
  validate: StandardSchemaWithJSON['~standard']['validate'],
): StandardSchemaWithJSON {
  const jsonSchema = { input: () => json, output: () => json };
  return { '~standard': { version: 1, vendor: 'venue-booking', jsonSchema, validate } };
}
