import type { Account } from '../domain/account.ts';
import { localDate } from '../domain/calendar.ts';
import type { Recorded, SpaceEvent } from '../domain/events.ts';
import { isKnown, knownEvent } from '../domain/known-event.ts';
import type { NamedActor } from '../domain/shown-actor.ts';
import { changedTerms, evolveSpace, type SeenTerms, SPACE_TERMS, type Space } from '../domain/space.ts';
import { streamOf } from '../domain/streams.ts';
import type { QueryDeps } from './query-deps.ts';
import { isVisibleSpace } from './spaces.ts';

/** The actor and time of the last change. */
type LastChange = { readonly by: NamedActor; readonly at: string };

/** A space according to the log, and its last changes. */
export type SpaceNow = {
  readonly space: Space;
  /** The terms that differ from those seen, with the actor of each change. */
  readonly changed: readonly (LastChange & { readonly term: keyof SeenTerms })[];
  /** The actor that last closed or reopened it; absent if that never happened. */
  readonly switched?: LastChange;
};

/**
 * The changes of a space since a page showed it, and their actors. Read from the log, because commands are decided on the log. Undefined
 * for a space that the account may not see.
 */
export function createSpaceChanges({ events, names, clock }: QueryDeps) {
  return async (account: Account, spaceId: number, seen: SeenTerms | undefined): Promise<SpaceNow | undefined> => {
    let space: Space | undefined;
    const last = new Map<keyof SeenTerms | 'active', Recorded<SpaceEvent>>();
    for await (const stored of events.readStream(streamOf.space(spaceId))) {
      if (!isKnown(stored)) continue;
      // A stream of a space holds only the events of that space.
      const event = knownEvent<SpaceEvent>(stored);
      space = evolveSpace(space, event);
      if (event.type === 'SpaceClosed' || event.type === 'SpaceOpened') last.set('active', event);
      if (event.type === 'SpaceChanged' && event.data.dates !== undefined) last.set('special', event);
      if (event.type === 'SpaceAdded' || event.type === 'SpaceChanged')
        for (const term of SPACE_TERMS) if (event.data[term] !== undefined) last.set(term, event);
    }
    if (space === undefined || !isVisibleSpace(account, space)) return undefined;

    const nameOf = names.for(account);
    const lastChangeOf = async (what: keyof SeenTerms | 'active'): Promise<LastChange[]> => {
      const event = last.get(what);
      return event === undefined ? [] : [{ by: await nameOf(event.metadata.actor), at: event.metadata.at }];
    };
    const terms = seen === undefined ? [] : changedTerms(seen, space, localDate(clock(), space.timeZone));
    const changed = await Promise.all(
      terms.map(async (term) => (await lastChangeOf(term)).map((change) => ({ term, ...change }))),
    );
    const [switched] = await lastChangeOf('active');
    return { space, changed: changed.flat(), ...(switched && { switched }) };
  };
}
