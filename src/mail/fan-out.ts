import type { BaseLogger } from 'pino';
import type { DocumentStore } from '../document-store/document-store.ts';
import type { Recorded } from '../domain/events.ts';
import { type EventStore, type EventStoreOperations, logEnd } from '../event-store/event-store.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { consumeKinds, type FanOut } from '../webhooks/fan-out/consume-kinds.ts';
import type { FailedEvents } from '../webhooks/fan-out/failed-events.ts';
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
 * The consumer group of one kind of event. A process joins only the groups of kinds it knows, so that it never takes an event from a
 * newer release.
 */
const mailGroup = (kind: string): string => `mails-${kind}`;

/** Creates missing groups at the end of the log: what happened before mail was set up is not mailed. */
export async function prepareMailGroups(
  events: Pick<EventStore, 'lastEvent'> & Pick<EventStoreOperations, 'groupPosition' | 'createGroup'>,
  kinds: readonly string[],
): Promise<void> {
  const positions = await Promise.all(kinds.map((kind) => events.groupPosition(mailGroup(kind))));
  const missing = kinds.filter((_, index) => positions[index] === undefined);
  if (missing.length === 0) return;
  const after = await logEnd(events);
  for (const kind of missing) await events.createGroup(mailGroup(kind), { types: [kind], after });
}

/** Stores the mails of each event. An event is acknowledged once they are stored; one that comes again adds nothing. */
export function startMailFanOut(deps: {
  readonly events: EventStore;
  readonly documents: Pick<DocumentStore, 'ping'>;
  readonly readModels: Pick<ReadModels, 'waitFor'>;
  readonly recipients: Recipients;
  readonly queue: Pick<MailQueue, 'add'>;
  readonly wake: () => void;
  readonly failedEvents: FailedEvents;
  readonly clock: Clock;
  readonly clockProblem: () => Promise<string | undefined>;
  readonly logger: Pick<BaseLogger, 'warn' | 'error'>;
  readonly readModelWaitMs?: number | undefined;
  readonly pollIntervalMs?: number | undefined;
}): Promise<FanOut> {
  const { recipients, queue, clock, clockProblem, wake, ...rest } = deps;
  return consumeKinds({
    ...rest,
    groups: recipients.kinds.map((kind) => ({ kind, group: mailGroup(kind) })),
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
      if (mails.length > 0) wake();
    },
  });
}
