import { isAtLeast } from '../domain/roles.ts';
import { missing } from './parts/answer.ts';
import { START_PAGE } from './parts/frame.ts';
import type { ConsoleRoutes, Handler, PageDeps } from './parts/routes.ts';

/** Where a user who opens the console begins, and the page for addresses that it does not have. */
export function startPages(routes: ConsoleRoutes, { queries }: PageDeps): void {
  // A community without spaces starts by adding one.
  const start: Handler = async ({ account, role }) => {
    const mayAdd = account.kind === 'Community' && isAtLeast(role, 'Manager');
    const isNew = mayAdd && (await queries.spaces.list(account)).length === 0;
    return { go: isNew ? '/console/spaces/new' : START_PAGE.href };
  };
  for (const path of ['/console', '/console/']) routes.get(path, 'Viewer', start);
  routes.get('/console/*', 'Viewer', async () => missing('page'));
}
