import { randomUUIDv7 } from 'node:crypto';
import type { ClosureDocument } from '../../projections/closures.ts';
import {
  addClosure,
  type Closure,
  calendarIdOf,
  changeClosure,
  type SpaceDate,
  spaceDatesOf,
} from '../domain/closure.ts';
import { type Decision, isRefusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import type { ClosureAdded } from '../domain/events.ts';
import { type ClosureId, closureId, type PlainDate, type SpaceId } from '../domain/ids.ts';
import { ERASED, ownerOf, type PersonalText } from '../domain/personal-text.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';

/** What a closed time or an own event is changed to. What is absent stays. */
export type ClosureChange = {
  /** The only date that changes. Default: all from today on. */
  readonly date?: PlainDate;
  readonly start?: number;
  readonly until?: number;
  /** Empty: none. */
  readonly title?: string;
};

/** The intention that changes a closed time; none if it is like this already. */
export async function intendedChange(
  {
    stored,
    replaced,
    today,
  }: { readonly stored: ClosureDocument; readonly replaced: Closure; readonly today: PlainDate },
  { date, title, start = stored.start, until = stored.until }: ClosureChange,
  personalData: Pick<PersonalData, 'openClosures' | 'sealText'>,
): Promise<Decision<ClosureAdded>> {
  const [{ title: before } = { title: undefined }] = await personalData.openClosures([stored]);
  const isSameTitle = title === undefined || title === (before ?? '');
  const isSame = isSameTitle && start === stored.start && until === stored.until;
  if (isSame && !replaced.hasEnded) return [];
  const id = closureId(randomUUIDv7());
  const calendar = { calendarId: calendarIdOf(stored), firstAddedAt: stored.replaces?.firstAddedAt ?? stored.addedAt };
  const wanted = {
    closureId: id,
    start,
    until,
    calendar,
    ...defined({ date, title: isSameTitle ? undefined : title }),
  };
  const decision = changeClosure(replaced, wanted, today);
  if (isRefusal(decision)) return decision;
  const days = decision.flatMap(({ data }) => spaceDatesOf(data));
  if (notLeftOut(days, stored).length === 0) return refuse('ValidationError', 'It has none of these days any more.');
  if (!isSameTitle) return decision;
  const kept = await copyOf(stored.title, before, id, personalData);
  return decision.map(({ type, data }) => ({ type, data: { ...data, ...defined({ title: kept }) } }));
}

/** The intention of an own event on spaces of a date that another one has left out. */
export async function intendedAgain(
  { stored, today }: { readonly stored: ClosureDocument; readonly today: PlainDate },
  { date, spaceIds }: { readonly date: PlainDate; readonly spaceIds: readonly SpaceId[] },
  personalData: Pick<PersonalData, 'openClosures' | 'sealText'>,
): Promise<Decision<ClosureAdded>> {
  const id = closureId(randomUUIDv7());
  const { communityId, kind, start, until } = stored;
  const wanted = { closureId: id, communityId, kind, start, until, spaceIds, from: date, to: date };
  const decision = addClosure(undefined, wanted, today);
  if (isRefusal(decision)) return decision;
  const [{ title } = { title: undefined }] = await personalData.openClosures([stored]);
  const copy = await copyOf(stored.title, title, id, personalData);
  return decision.map(({ type, data }) => ({ type, data: { ...data, ...defined({ title: copy }) } }));
}

/** Those of some days that a closed time has not left out. */
export function notLeftOut<D extends SpaceDate>(
  days: readonly D[],
  { leftOut }: Pick<ClosureDocument, 'leftOut'>,
): D[] {
  const before = new Set(leftOut.map(({ spaceId, date }) => `${spaceId} ${date}`));
  return days.filter(({ spaceId, date }) => !before.has(`${spaceId} ${date}`));
}

/** A title for the closed time that replaces its own. It stays that of its author, whose texts may be erased later. */
async function copyOf(
  title: PersonalText | undefined,
  opened: string | undefined,
  id: ClosureId,
  { sealText }: Pick<PersonalData, 'sealText'>,
): Promise<PersonalText | undefined> {
  if (title === undefined || typeof title === 'string' || opened === undefined) return title;
  const sealed = await sealText(title.subject, ownerOf.closure({ closureId: id }), 'title', opened);
  return sealed === ERASED ? undefined : sealed;
}
