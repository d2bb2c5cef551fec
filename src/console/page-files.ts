import type { Account, AccountKind } from '../domain/account.ts';
import type { LeastRole } from '../domain/roles.ts';
import { loadOnce } from '../event-loop/load-once.ts';
import { missing } from './parts/answer.ts';
import {
  type ConsoleRoutes,
  type Handler,
  isOfKind,
  type MAX_FILE_BYTES,
  type PageDeps,
  type Routes,
} from './parts/routes.ts';
import type { AccountOf } from './parts/visit.ts';

/** A file with pages and forms. Their paths are known before it is loaded. */
export type PageFile = {
  /** Loads it. @returns what registers its pages and forms */
  readonly load: () => Promise<(routes: ConsoleRoutes, deps: PageDeps) => void>;
  readonly pages: readonly string[];
  readonly forms?: readonly string[];
  /** Forms that may carry files. */
  readonly uploads?: readonly string[];
  /** Of such a form. Default: a file of {@link MAX_FILE_BYTES}, with room for other fields. */
  readonly maxUploadBytes?: number;
};

/** A page, a form, or a form that may carry files. */
type What = 'page' | 'form' | 'upload';

export type Page = {
  readonly what: What;
  readonly path: string;
  /** Of a form that is larger than others of its kind. */
  readonly maxBytes: number | undefined;
  /** Loads the file of the page, if this is its first request. */
  readonly route: () => Promise<PageRoute>;
};

/** The least role that may open a page or send a form, the kind of account that has it, and what answers. */
export type PageRoute = {
  readonly least: LeastRole;
  /** Default: any. */
  readonly kind: AccountKind | undefined;
  readonly handler: Handler;
  /** Answers a form that was sent again long after it took effect. Default: a page that says so. */
  readonly repeated?: Handler | undefined;
};

/** The pages and forms of files. A process starts without the files, which are a quarter of the source, and loads those that are used. */
export function pagesOf(files: readonly PageFile[], deps: PageDeps): Page[] {
  return files.flatMap(({ load, pages, forms = [], uploads = [], maxUploadBytes }) => {
    const routes = loadOnce(async () => routesOf(await load(), deps));
    const page = (what: What, maxBytes?: number) => (path: string) => {
      const route = async (): Promise<PageRoute> => {
        const found = (await routes()).get(keyOf(what, path));
        if (found === undefined) throw new Error(`No file registers the ${what} ${path}`);
        return found;
      };
      return { what, path, maxBytes, route };
    };
    return [...pages.map(page('page')), ...forms.map(page('form')), ...uploads.map(page('upload', maxUploadBytes))];
  });
}

const keyOf = (what: What, path: string): string => `${what} ${path}`;

function routesOf(register: Awaited<ReturnType<PageFile['load']>>, deps: PageDeps): ReadonlyMap<string, PageRoute> {
  const routes = new Map<string, PageRoute>();
  const add = (what: What, path: string, route: PageRoute) => void routes.set(keyOf(what, path), route);
  /** @param forAny makes a handler one for any account */
  const of = <A extends Account>(forAny: (handler: Handler<A>) => Handler, kind?: AccountKind): Routes<A> => ({
    get: (path, least, handler) => add('page', path, { least, kind, handler: forAny(handler) }),
    post: (path, least, handler, repeated) =>
      add('form', path, { least, kind, handler: forAny(handler), repeated: repeated && forAny(repeated) }),
    upload: (path, least, handler) => add('upload', path, { least, kind, handler: forAny(handler) }),
  });
  const only = <K extends AccountKind>(kind: K): Routes<AccountOf<K>> =>
    of((handler) => async (visit) => (isOfKind(visit, kind) ? handler(visit) : missing('page')), kind);
  register({ ...of<Account>((handler) => handler), community: only('Community'), brand: only('Brand') }, deps);
  return routes;
}
