import type { MembershipEvent } from '../domain/events.ts';
import { recordChange, streamOfChange } from '../domain/membership.ts';
import { membership } from './aggregates.ts';
import type { CommandContext, CommandHandler } from './command-handler.ts';

export type MembershipCommands = {
  /**
   * Appends a change to the record of a user or client, which has taken effect already. Repeating it does nothing
   * (docs/decisions/accounts.md).
   */
  record(change: MembershipEvent, context: CommandContext): Promise<void>;
};

export const createMembershipCommands = ({ handler }: { readonly handler: CommandHandler }): MembershipCommands => ({
  async record(change, context) {
    await handler.execute(streamOfChange(change), membership, context, (recorded) => recordChange(recorded, change));
  },
});
