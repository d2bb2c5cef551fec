import { isRefusal } from '../domain/decision.ts';
import type { MembershipEvent } from '../domain/events.ts';
import { recordChange, streamOfChange } from '../domain/membership.ts';
import { membership } from './aggregates.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';

export const createMembershipCommands = ({ handler }: Pick<CommandDeps, 'handler'>) => ({
  /**
   * Appends a change to the record of a user or client, which has taken effect already. Repeating it does nothing
   * (docs/decisions/accounts.md).
   */
  async record(change: MembershipEvent, context: CommandContext): Promise<void> {
    const outcome = await handler.execute(streamOfChange(change), membership, context, (recorded) =>
      recordChange(recorded, change),
    );
    // Otherwise the record would forget a change that the log lacks.
    if (isRefusal(outcome)) throw new Error(`A change was refused by the log: ${outcome.details}`);
  },
});
