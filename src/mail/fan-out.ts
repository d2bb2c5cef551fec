import type { BaseLogger } from 'pino';
import type { DocumentStore } from '../document-store/document-store.ts';
import type { Recorded } from '../domain/events.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { FailedEvents } from '../outbox/failed-events.ts';
import { type FanOut, followKinds } from '../outbox/follow-kinds.ts';
import type { ReadModels } from '../read-models/read-models.ts';
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

/** The consumer groups of an earlier release, which knew no marks. */
export const formerGroups = (kinds: readonly string[]) => kinds.map((kind) => ({ kind, group: `mails-${kind}` }));

/** Stores the mails of each event. An event is done once they are stored; one that comes again adds nothing. */
export function startMailFanOut(deps: {
  readonly events: EventStore;
  readonly documents: Pick<DocumentStore, 'open' | 'ping'>;
  readonly readModels: Pick<ReadModels, 'waitFor'>;
  readonly recipients: Recipients;
  readonly queue: Pick<MailQueue, 'add'>;
  readonly wake: (isFirst: boolean) => void;
  readonly failedEvents: FailedEvents;
  readonly clock: Clock;
  readonly clockProblem: () => Promise<string | undefined>;
  readonly logger: Pick<BaseLogger, 'warn' | 'error'>;
  readonly readModelWaitMs?: number | undefined;
  readonly pollIntervalMs?: number | undefined;
  readonly markEveryMs?: number | undefined;
}): Promise<FanOut> {
  const { recipients, queue, clock, clockProblem, wake, ...rest } = deps;
  return followKinds({
    ...rest,
    role: 'mail',
    kinds: recipients.kinds,
    groups: [],
    reads: recipients.reads,
    ping: async () => {},
    async handle(event) {
      if (isTooOld(event.metadata.at, clock())) {
        const problem = await clockProblem();
        if (problem === undefined) return;
        throw new Unavailable(`${problem}, so the age of the event is not known`);
      }
      const mails = await recipients.of(event);
      await Promise.all(mails.map((mail) => queue.add(mail)));
      faultPoint('mails stored, not acknowledged');
      if (mails.length > 0) wake(mails.some(({ kind }) => isUrgent(kind)));
    },
  });
}
