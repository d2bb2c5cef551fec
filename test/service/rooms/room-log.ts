import type { Core } from '../../../src/core.ts';
import type { DomainEvent } from '../../../src/domain/events.ts';
import { knownEvent } from '../../../src/domain/known-event.ts';
import { photosIn } from '../../../src/domain/photos.ts';
import { type Change, isAcknowledged, type Place } from './change.ts';

/** The photos of a place, and how often each was added and removed. */
type PhotoHistory = {
  readonly names: readonly string[];
  readonly added: ReadonlyMap<string, number>;
  readonly removed: ReadonlyMap<string, number>;
};

/** What a log says of rooms and photos. */
export type RoomLog = {
  /** The places in the log of the events with a mark: of a description, or the first one with a text about a photo. */
  readonly marks: ReadonlyMap<string, readonly number[]>;
  readonly photos: ReadonlyMap<Place, PhotoHistory>;
  /** The area that each room was described with last. */
  readonly areas: ReadonlyMap<number, number>;
};

export async function readRoomLog({ events, personalData }: Pick<Core, 'events' | 'personalData'>): Promise<RoomLog> {
  const marks = new Map<string, number[]>();
  const texts = new Set<string>();
  const photos = new Map<Place, PhotoHistory>();
  const areas = new Map<number, number>();
  let index = 0;
  for await (const stored of events.readAll({ types: TYPES })) {
    index += 1;
    const [event] = await personalData.openEvents([knownEvent<DomainEvent>(stored)]);
    if (event?.type === 'SpaceDescribed' && typeof event.data.area === 'number') {
      marks.getOrInsertComputed(String(event.data.area), () => []).push(index);
      areas.set(event.data.spaceId, event.data.area);
    }
    if (event?.type !== 'SpacePhotosChanged' && event?.type !== 'CommunityPhotosChanged') continue;
    const list = photosIn(event.data);
    for (const { alt } of list) if (alt !== undefined && !texts.has(alt)) marks.set(alt, [index]);
    for (const { alt } of list) if (alt !== undefined) texts.add(alt);
    const place = event.type === 'SpacePhotosChanged' ? event.data.spaceId : 'house';
    photos.set(
      place,
      changed(
        photos.get(place),
        list.map(({ photo }) => photo),
      ),
    );
  }
  return { marks, photos, areas };
}

const TYPES = ['SpaceDescribed', 'SpacePhotosChanged', 'CommunityPhotosChanged'] as const;

const NONE: PhotoHistory = { names: [], added: new Map(), removed: new Map() };

function changed({ names: before, added, removed } = NONE, names: readonly string[]): PhotoHistory {
  const with1 = (counts: ReadonlyMap<string, number>, those: readonly string[]) =>
    new Map([...counts, ...those.map((name) => [name, (counts.get(name) ?? 0) + 1] as const)]);
  return {
    names,
    added: with1(
      added,
      names.filter((name) => !before.includes(name)),
    ),
    removed: with1(
      removed,
      before.filter((name) => !names.includes(name)),
    ),
  };
}

/** What is missing in a log, doubled, or in another order than that of the answers. */
export function problemsOf(log: RoomLog, changes: readonly Change[]): readonly string[] {
  const ofTexts = changes.filter(({ what }) => what === 'described' || what === 'told');
  const found = ofTexts.map((change) => ({ change, at: log.marks.get(change.mark) ?? [] }));
  const wrong = found
    .filter(({ change, at }) => at.length > 1 || (at.length === 0 && isAcknowledged(change)))
    .map(({ change, at }) => `${at.length} times in the log: ${JSON.stringify(change)}`);
  return [...wrong, ...outOfOrder(found), ...wrongCounts(log, changes)];
}

/** Changes that were answered before another was called, and stand behind it in the log. */
function outOfOrder(found: readonly { readonly change: Change; readonly at: readonly number[] }[]): readonly string[] {
  const inLog = found.flatMap(({ change, at: [at] }) => (at === undefined ? [] : [{ change, at }]));
  inLog.sort((a, b) => a.at - b.at);
  let lastCalled: Change | undefined;
  const wrong: string[] = [];
  for (const { change } of inLog) {
    if (lastCalled !== undefined && change.answeredAt < lastCalled.calledAt)
      wrong.push(`${JSON.stringify(change)} stands behind ${JSON.stringify(lastCalled)}`);
    if (lastCalled === undefined || change.calledAt > lastCalled.calledAt) lastCalled = change;
  }
  return wrong;
}

/** A photo is added and removed as often as was answered, or once more for each call without an answer. */
function wrongCounts({ photos }: RoomLog, changes: readonly Change[]): readonly string[] {
  const ofPhotos = changes.filter(({ what }) => what === 'added' || what === 'removed');
  const groups = Map.groupBy(ofPhotos, ({ place, what, mark }) => `${place} ${what} ${mark}`);
  return [...groups].flatMap(([name, group]) => {
    const [{ place, what, mark }] = group as [Change];
    const times = photos.get(place)?.[what === 'added' ? 'added' : 'removed'].get(mark) ?? 0;
    const least = group.filter(isAcknowledged).length;
    return times >= least && times <= group.length
      ? []
      : [`${name}: ${times} times in the log, not ${least} to ${group.length}`];
  });
}
