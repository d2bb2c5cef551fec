import { type ClosureDocument, closures, type ReadableClosure } from '../../projections/closures.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { hasDayFrom } from '../domain/closure.ts';
import { defined } from '../domain/defined.ts';
import type { CommunityId, PlainDate } from '../domain/ids.ts';
import type { QueryDeps } from './query-deps.ts';
import { COMMUNITY, FROM, TO } from './samples.ts';

/** Those of a community that reach into these dates, by their last date, with those that have ended. */
export const reachingInto = declareQuery(
  closures,
  (owner: CommunityId, from: PlainDate, to?: PlainDate): Find<ClosureDocument> => ({
    where: { communityId: owner, to: { from }, ...defined({ from: to && { to } }) },
    sort: [{ field: 'to' }, { field: 'closureId' }],
  }),
  [COMMUNITY.id, FROM],
  [COMMUNITY.id, FROM, TO],
);

export function createClosureQueries({ readModels, personalData }: QueryDeps) {
  return {
    /** The closed times and own events of a community that reach into these dates, by their first date, without those that have ended or no day left. */
    async list(owner: CommunityId, from: PlainDate, to?: PlainDate): Promise<readonly ReadableClosure[]> {
      const documents = await readModels.collection(closures).list(reachingInto(owner, from, to));
      const current = documents.filter((each) => each.endedAt === undefined && hasDayFrom(each, from));
      const opened = await personalData.openClosures(current);
      return opened.toSorted((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0));
    },

    /** One of a community, also if it has ended. */
    async get(owner: CommunityId, closureId: string): Promise<ReadableClosure | undefined> {
      const stored = await readModels.collection(closures).get(closureId);
      if (stored === undefined || stored.communityId !== owner) return undefined;
      const [opened] = await personalData.openClosures([stored]);
      return opened;
    },
  };
}
