import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import type { CommandContext } from '../commands/command-handler.ts';
import { type Config, readConfig } from '../config.ts';
import type { ErrorCode } from '../contract/schemas/errors.ts';
import type { Core } from '../core.ts';
import { operatorOf } from '../domain/account.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import { textOf } from './print.ts';

/** The part of the service that commands use. They read through queries, so it has no stores or read models. */
export type OperatorCore = { readonly context: CommandContext } & Pick<
  Core,
  | 'config'
  | 'clock'
  | 'copyOf'
  | 'resealRecords'
  | 'commands'
  | 'queries'
  | 'users'
  | 'passwordReset'
  | 'invitations'
  | 'webhooks'
  | 'mail'
  | 'authorizationServer'
  | 'mailContent'
  | 'maintenance'
  | 'status'
  | 'clockWatch'
  | 'audit'
>;

/** A problem that a command found, as opposed to an unexpected failure. */
type Finding =
  | 'ClockNotBelieved'
  | 'LogNotAsSealed'
  | 'MailNotSent'
  | 'NewerRelease'
  | 'NotKeptElsewhere'
  | 'NotProved'
  | 'ReadModelsDiffer'
  | 'ReadModelsNotVerified';

/** The error shape of the API, on the command line. */
export type Problem = { readonly error: ErrorCode | Finding; readonly details: string };

/** The output of a command: `json` with `--json`, otherwise its text (`print.ts`). With a `failure` it exits with 1. */
export type Answer = {
  readonly json: unknown;
  /** The fields that a table shows. Default all. */
  readonly columns?: readonly string[];
  /** Printed instead of the text: a document with a format of its own, such as CSV or a signed checkpoint. */
  readonly document?: string;
  /** What the operator should know or do next. Printed on stderr, and not with `--json`. */
  readonly note?: string | undefined;
  readonly failure?: Problem & { readonly error: Finding };
};

/** Carries a problem out of the command, so that the process exits with 1. */
export class CommandFailed extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.details);
    this.name = 'CommandFailed';
    this.problem = problem;
  }
}

export const refusedError = ({ refused, details }: Refusal): CommandFailed =>
  new CommandFailed({ error: refused, details });

/** The running command, with access to the global options. */
export type Invoked = {
  optsWithGlobals(): object;
  configureOutput(): { readonly writeOut?: (text: string) => void; readonly writeErr?: (text: string) => void };
};

/**
 * The configuration of the service, except that nothing is logged unless `LOG_LEVEL` is set.
 * @param settings instead of those in the environment
 */
export function operatorConfig(settings: { readonly SECRET_KEY?: string } = {}): Config {
  const { LOG_LEVEL = '', ...environment } = process.env;
  return readConfig({ ...environment, ...settings, LOG_LEVEL: LOG_LEVEL.trim() || 'silent' });
}

/** Whether the caller wants JSON. */
export const isJson = (command: Invoked): boolean => 'json' in command.optsWithGlobals();

/** Prints a note that is not part of the result, on stderr. Prints nothing with `--json`. */
export const tell = (command: Invoked, text: string): void => command.configureOutput().writeErr?.(`${text}\n`);

/** Writes a long result in parts, and waits for a slow reader. */
export const writerOf =
  (command: Invoked) =>
  async (text: string): Promise<void> => {
    command.configureOutput().writeOut?.(text);
    // That nothing reads the output shows in the next turn of the event loop.
    await (process.stdout.writableNeedDrain ? once(process.stdout, 'drain') : nextTurn());
  };

/** @throws {CommandFailed} with the failure of the answer, if there is one */
export function printAnswer(command: Invoked, { json, columns, document, note, failure }: Answer): void {
  const printed = isJson(command) ? JSON.stringify(json, null, 2) : (document ?? textOf(json, columns));
  command.configureOutput().writeOut?.(`${printed}\n`);
  if (note !== undefined) tell(command, note);
  if (failure !== undefined) throw new CommandFailed(failure);
}

/**
 * Runs `work` against the assembled service and prints the answer, unless `work` has printed it. The first read of each read model waits
 * until it has caught up with the log. While no service runs, this process keeps the read models up to date itself.
 */
export async function operate(
  command: Invoked,
  work: (core: OperatorCore) => Promise<Answer | Refusal | 'printed'>,
): Promise<void> {
  const config = operatorConfig();
  // Loaded here, because help and a wrong argument need none of it: half a second.
  const { openCore } = await import('../core.ts');
  const core = await openCore(config, pino({ level: config.logLevel }, pino.destination(2)), { kind: 'tool' });
  core.projector.start();
  try {
    const context = { actor: operatorOf(config.operator), correlationId: `cli-${randomUUID()}` };
    const answer = await work({ ...core, context });
    if (isRefusal(answer)) throw refusedError(answer);
    if (answer !== 'printed') printAnswer(command, answer);
  } finally {
    await core.projector.stop();
    await core.close();
  }
}

/** The action of a command that needs nothing but the service. `work` gets the arguments of the command, its options and the command. */
export const operated =
  <Given extends unknown[]>(work: (core: OperatorCore, ...given: Given) => Promise<Answer | Refusal | 'printed'>) =>
  (...given: Given): Promise<void> =>
    operate(given.at(-1) as Invoked, (core) => work(core, ...given));
