import type { Recorded } from '../domain/events.ts';
import { gatherCalls } from '../event-loop/gathered-calls.ts';
import type { Clock } from '../runtime/clock.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { isUrgent } from './kinds.ts';
import type { MailQueue } from './mail-queue.ts';
import { isTooOld } from './mail-record.ts';
import type { NewMail } from './new-mail.ts';

/** Who is to hear of events. */
export type Recipients = {
  /** The kinds of events that lead to mails. */
  readonly kinds: readonly string[];
  /** The read models that `of` reads. */
  readonly reads: readonly { readonly name: string }[];
  /** The mails that an event leads to. @throws {Unavailable} if something cannot be read now */
  of(event: Recorded): Promise<readonly NewMail[]>;
};

/**
 * A batch of many events begins a quarter of a second after the last one, because a mail may take a moment and a larger batch costs each event
 * less. After few events it begins sooner: those that failed are tried again one by one.
 */
const restMs = (events: number): number => Math.min(events * 25, 250);

type FanOutDeps = {
  readonly recipients: Recipients;
  readonly queue: Pick<MailQueue, 'addAll'>;
  readonly wake: (isFirst: boolean) => void;
  readonly clock: Clock;
  readonly clockProblem: () => Promise<string | undefined>;
};

/** Stores the mails of each event. An event is done once they are stored; one that comes again adds nothing. */
export function createMailFanOut(deps: FanOutDeps): (event: Recorded) => Promise<void> {
  const { clock, clockProblem } = deps;
  const store = gatherCalls(storeMails(deps), { restMs });
  return async (event) => {
    if (isTooOld(event.metadata.at, clock())) {
      const problem = await clockProblem();
      if (problem === undefined) return;
      throw new Unavailable(`${problem}, so the age of the event is not known`);
    }
    const outcome = await store(event);
    if (outcome?.status === 'rejected') throw outcome.reason;
  };
}

/** Stores the mails of events that are handled at the same time. An event whose readers cannot be found fails alone. */
function storeMails({ recipients, queue, wake }: Pick<FanOutDeps, 'recipients' | 'queue' | 'wake'>) {
  return async (events: readonly Recorded[]) => {
    const outcomes = await Promise.allSettled(events.map((event) => recipients.of(event)));
    const stored = await queue.addAll(
      outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : [])),
    );
    faultPoint('mails stored, not acknowledged');
    // The others wait for a digest.
    const dueNow = stored.filter(({ inDigest }) => inDigest !== true);
    if (dueNow.length > 0) wake(dueNow.some(({ kind }) => isUrgent(kind)));
    return new Map(events.map((event, index) => [event, outcomes[index]]));
  };
}
