import type { DocumentStore } from '../document-store/document-store.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import { createRole, type Role, type RunningRole } from '../leases/role.ts';
import type { Clock } from '../runtime/clock.ts';
import { openFailedEvents } from './failed-events.ts';
import { type FanOut, type FollowKindsDeps, followKinds } from './follow-kinds.ts';

/** What stores the records of events, and sends them, while this process has the role. */
export type Sending = Pick<FollowKindsDeps, 'handle'> & {
  /** Begins with what is stored already. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

/** What is sent: which events it is about, and how. */
type Sent = Pick<FollowKindsDeps, 'kinds' | 'groups' | 'reads' | 'ping'> & {
  readonly send: (isActive: () => boolean) => Promise<Sending>;
};

/** From the log to something sent: failed events, and the role that makes records of events and sends them (docs/decisions/outbox.md). */
export async function openOutbox(
  deps: Omit<FollowKindsDeps, 'failedEvents' | 'handle' | keyof Sent> & {
    readonly documents: DocumentStore;
    readonly heartbeats: Heartbeats<object>;
    readonly clock: Clock;
    readonly failureDelaysMs?: readonly number[] | undefined;
  },
) {
  const { role: name, documents, heartbeats, clock, logger, failureDelaysMs: delaysMs } = deps;
  const failedEvents = await openFailedEvents({ documents, clock, role: name, delaysMs });
  let role: Role | undefined;

  return {
    /** Takes the role once no other process has it, then fans out and sends. */
    start({ send, ...what }: Sent): void {
      const run = async (isActive: () => boolean) =>
        runOutbox({ ...deps, ...what, failedEvents }, await send(isActive));
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
