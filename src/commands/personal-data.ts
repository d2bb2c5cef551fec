import { toTimestamp } from '../domain/calendar.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { forgetSubject } from '../domain/forgetting.ts';
import type { Timestamp } from '../domain/ids.ts';
import { type Subject, subjectInWords } from '../domain/personal-text.ts';
import { streamOf } from '../domain/streams.ts';
import { forgotten } from './aggregates.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';

export function createPersonalDataCommands({ handler, personalData, clock }: CommandDeps) {
  return {
    /**
     * Destroys the key of a subject, so that its texts read as erased at once, in every process, and records that in the log. Can be
     * repeated after an interruption. Refuses `ValidationError` if nothing is left to do. The subject need not exist.
     * @returns when it was forgotten
     */
    async forget(subject: Subject, context: CommandContext): Promise<Timestamp | Refusal> {
      const stream = streamOf.subject(subject);
      // Fails here if the log cannot be read, before anything is destroyed.
      await handler.load(stream, forgotten);
      // Before the event, because readers of the event refresh the texts.
      const { isDestroyed, at } = await personalData.destroyKey(subject, toTimestamp(clock()));
      const outcome = await handler.execute(stream, forgotten, context, (state) => forgetSubject(state, subject));
      if (isRefusal(outcome)) return outcome;
      if (!isDestroyed && outcome.events.length === 0)
        return refuse(
          'ValidationError',
          `The personal data of ${subjectInWords(subject)} was erased on ${at} already.`,
        );
      return at;
    },
  };
}
