import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { type Core, openCore } from '../app.ts';
import type { CommandContext } from '../commands/command-handler.ts';
import { readConfig } from '../config.ts';
import type { ErrorCode } from '../contract/errors.ts';
import { OPERATOR } from '../domain/account.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';

/** What commands work on. Neither stores nor read models: what is read is a query, as for everyone else. */
export type OperatorCore = Pick<
  Core,
  'config' | 'commands' | 'queries' | 'users' | 'webhooks' | 'authorizationServer' | 'maintenance'
>;

/** What a command prints: `json` with `--json`, else `text`. With a `failure` it ends with 1 after that. */
export type Answer = { readonly json: unknown; readonly text: string; readonly failure?: string };

/** The error shape of the API, on the command line. */
export type Problem = { readonly error: ErrorCode; readonly details: string };

/** A rule said no. It leaves the command as an error, so that the process ends with 1. */
export class RefusedError extends Error {
  readonly problem: Problem;

  constructor({ refused, details }: Refusal) {
    super(details);
    this.name = 'RefusedError';
    this.problem = { error: refused, details };
  }
}

/** The command that an action belongs to; knows the options given before it. */
type Invoked = {
  optsWithGlobals(): object;
  configureOutput(): { readonly writeOut?: (text: string) => void };
};

/** How long the read models may take to catch up before a command gives up, in milliseconds. */
const CATCH_UP_MS = 30_000;

/**
 * Runs `work` on the service's parts and prints its answer. Projects while no other process does, so what is read is
 * current and what is written shows at once.
 */
export async function operate(
  command: Invoked,
  work: (core: OperatorCore, context: CommandContext) => Promise<Answer | Refusal>,
): Promise<void> {
  const { LOG_LEVEL = '', ...environment } = process.env;
  const config = readConfig({ ...environment, LOG_LEVEL: LOG_LEVEL.trim() || 'silent' });
  const core = await openCore(config, pino({ level: config.logLevel }, pino.destination(2)));
  core.projector.start();
  try {
    if (!(await core.maintenance.catchUp(CATCH_UP_MS)))
      throw new Error(`The read models did not catch up with the log within ${CATCH_UP_MS / 1_000} s; try again.`);
    const answer = await work(core, { actor: OPERATOR, correlationId: `cli-${randomUUID()}` });
    if (isRefusal(answer)) throw new RefusedError(answer);
    const printed = 'json' in command.optsWithGlobals() ? JSON.stringify(answer.json, null, 2) : answer.text;
    command.configureOutput().writeOut?.(`${printed}\n`);
    if (answer.failure !== undefined) throw new Error(answer.failure);
  } finally {
    await core.projector.stop();
    await core.close();
  }
}
