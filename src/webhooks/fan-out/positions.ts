import type { DocumentStore } from '../../document-store/document-store.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { WEBHOOK_EVENTS } from '../../domain/webhook.ts';
import type { EventStoreOperations, Position } from '../../event-store/event-store.ts';
import type { Clock } from '../../runtime/clock.ts';
import { openFailedEvents } from './failed-events.ts';
import { fanOutGroup, kindOf } from './groups.ts';

/** The position of each consumer group: every event up to it has been handled. */
export type FanOutPositions = { readonly [group: string]: Position };

const GROUPS: readonly string[] = keysOf(WEBHOOK_EVENTS).map(fanOutGroup);

/** Leaves out groups that do not exist. */
export async function fanOutPositions(events: Pick<EventStoreOperations, 'groupPosition'>): Promise<FanOutPositions> {
  const positions = await Promise.all(GROUPS.map(async (group) => [group, await events.groupPosition(group)] as const));
  return Object.fromEntries(
    positions.flatMap(([group, position]) => (position === undefined ? [] : [[group, position]])),
  );
}

/** Moves groups, including those of kinds that this release does not know. Events after the positions are handled again. */
export async function setFanOutPositions(
  events: Pick<EventStoreOperations, 'moveGroup'>,
  positions: FanOutPositions,
): Promise<void> {
  for (const [group, after] of Object.entries(positions))
    await events.moveGroup(group, { types: fanOutKinds(group), after });
}

/** The kinds of events that a group gets. */
export const fanOutKinds = (group: string): readonly string[] => [kindOf(group)];

/** The position of a group, and the ids of its parked events, in log order. */
export type FanOutStanding = {
  readonly group: string;
  readonly position: Position;
  readonly parked: readonly string[];
};

/** The position and the parked events of each group. */
export async function fanOutStandings(deps: {
  readonly events: Pick<EventStoreOperations, 'groupPosition'>;
  readonly documents: DocumentStore;
  readonly clock: Clock;
}): Promise<FanOutStanding[]> {
  const failedEvents = await openFailedEvents(deps);
  const positions = await fanOutPositions(deps.events);
  const parked = (await failedEvents.list()).filter(({ state }) => state === 'Parked');
  const inLogOrder = parked.toSorted((a, b) => (a.position < b.position ? -1 : 1));
  return Object.entries(positions).map(([group, position]) => ({
    ...{ group, position },
    parked: inLogOrder.filter(({ type }) => fanOutGroup(type) === group).map(({ eventId }) => eventId),
  }));
}
