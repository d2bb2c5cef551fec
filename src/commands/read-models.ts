import type { ProjectionEventSkipped } from '../domain/events.ts';
import { skipEvent } from '../domain/skipped-events.ts';
import { streamOf } from '../domain/streams.ts';
import { skippedEvents } from './aggregates.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';

export const createReadModelCommands = ({ handler }: Pick<CommandDeps, 'handler'>) => ({
  /** Makes a read model skip an event that it cannot fold, for good (docs/decisions/read-models.md). */
  skipEvent: (skip: ProjectionEventSkipped['data'], context: CommandContext) =>
    handler.execute(streamOf.readModel(skip.readModel), skippedEvents, context, (skipped) => skipEvent(skipped, skip)),
});
