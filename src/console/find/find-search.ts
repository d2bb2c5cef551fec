import { isRefusal } from '../../domain/decision.ts';
import type { SpaceResults, SpaceSearch } from '../../queries/space-search.ts';
import type { PageDeps } from '../parts/routes.ts';
import type { FindFilter } from './find-filter.ts';

/** Results on a page. */
export const PER_PAGE = 12;

type Wanted = Pick<SpaceSearch, 'by' | 'serviceFeePercent'> & Partial<SpaceSearch>;

/** Searches by a filter that was checked. Without a start time, spaces that are free on no day are found, too, after the others. */
export async function searchSpaces(
  { spaceSearch }: Pick<PageDeps['queries'], 'spaceSearch'>,
  { asked, sort, page }: FindFilter,
  wanted: Wanted,
): Promise<SpaceResults> {
  const where = { offset: (page - 1) * PER_PAGE, limit: PER_PAGE };
  const results = await spaceSearch({
    filter: asked,
    sort,
    includeTaken: asked.hour === undefined,
    ...where,
    ...wanted,
  });
  if (isRefusal(results)) throw new Error(`A filter that was checked is refused: ${results.details}`);
  return results;
}

/** The page of a filter, or the last one if there are fewer. */
export async function searchPage(
  queries: Pick<PageDeps['queries'], 'spaceSearch'>,
  filter: FindFilter,
  wanted: Wanted,
): Promise<{ readonly results: SpaceResults; readonly filter: FindFilter }> {
  const results = await searchSpaces(queries, filter, wanted);
  const last = { ...filter, page: Math.max(1, Math.min(filter.page, Math.ceil(results.total / PER_PAGE))) };
  return last.page === filter.page
    ? { results, filter }
    : { results: await searchSpaces(queries, last, wanted), filter: last };
}
