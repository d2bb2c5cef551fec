import { isRefusal, type Refusal } from '../domain/decision.ts';
import type { ProjectionEventSkipped } from '../domain/events.ts';
import { skipEvent } from '../domain/skipped-events.ts';
import { streamOf } from '../domain/streams.ts';
import { skippedEvents } from './aggregates.ts';
import type { CommandContext, CommandHandler } from './command-handler.ts';

export type ReadModelCommands = {
  /** Makes a read model skip an event that it cannot fold, for good (docs/decisions/read-models.md). */
  skipEvent(
    skip: ProjectionEventSkipped['data'],
    context: CommandContext,
  ): Promise<ProjectionEventSkipped['data'] | Refusal>;
};

export const createReadModelCommands = ({ handler }: { readonly handler: CommandHandler }): ReadModelCommands => ({
  async skipEvent(skip, context) {
    const outcome = await handler.execute(streamOf.readModel(skip.readModel), skippedEvents, context, (skipped) =>
      skipEvent(skipped, skip),
    );
    return isRefusal(outcome) ? outcome : skip;
  },
});
