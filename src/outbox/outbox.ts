import type { BaseLogger } from 'pino';
import type { DocumentStore } from '../document-store/document-store.ts';
import type { OperatedEventStore } from '../event-store/event-store.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import { createRole, type Role, type RunningRole } from '../leases/role.ts';
import type { Clock } from '../runtime/clock.ts';
import { openFailedEvents } from './failed-events.ts';
import { type FanOut, type FollowKindsDeps, followKinds } from './follow-kinds.ts';
import type { OutboxRole } from './marks.ts';

/** What webhooks and mail need alike. */
export type OutboxDeps<Status extends object = object> = Pick<FollowKindsDeps, 'readModels' | 'tuning'> & {
  readonly events: OperatedEventStore;
  readonly documents: DocumentStore;
  readonly heartbeats: Heartbeats<Status>;
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'info' | 'warn' | 'error'>;
};

/** What stores the records of events, and sends them, while this process has the role. */
export type Sending = Pick<FollowKindsDeps, 'handle'> & {
  /** Begins with what is stored already. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

/** From the log to something sent: failed events, and the role that makes records of events and sends them (docs/decisions/outbox.md). */
export async function openOutbox(deps: OutboxDeps, name: OutboxRole) {
  const { documents, heartbeats, clock, logger, tuning } = deps;
  const failedEvents = await openFailedEvents({ documents, clock, role: name, delaysMs: tuning?.failureDelaysMs });
  let role: Role | undefined;

  return {
    /** Takes the role once no other process has it, then fans out and sends. */
    start(
      what: Pick<FollowKindsDeps, 'kinds' | 'groups' | 'reads' | 'ping'>,
      send: (isActive: () => boolean) => Promise<Sending>,
    ): void {
      const run = async (isActive: () => boolean) =>
        runOutbox({ ...deps, ...what, role: name, failedEvents }, await send(isActive));
      role = createRole({ name, documents, heartbeats, clock, logger, run });
      role.start();
    },
    /** Starts nothing new, finishes the attempts in flight, within seconds, and gives up the role. */
    stop: async (): Promise<void> => role?.stop(),
    failedEvents,
  };
}

/** Sends, and makes records of events, until it is stopped. */
export async function runOutbox(deps: Omit<FollowKindsDeps, 'handle'>, sending: Sending): Promise<RunningRole> {
  let fanOut: FanOut | undefined;
  const stop = async () => {
    await Promise.all([fanOut?.close(), sending.stop()]);
  };
  try {
    // First what is stored already: of one booking, it may come before what fan-out will add.
    await sending.start();
    fanOut = await followKinds({ ...deps, handle: sending.handle });
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop, isStuck: fanOut.isStuck };
}
