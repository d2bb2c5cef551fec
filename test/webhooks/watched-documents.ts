import type { DocumentStore } from '../../src/document-store/document-store.ts';

/** A hook around every call: it may delay the call, make it fail, or count it. */
export type Watch = {
  /** Runs before the call. If it throws, the call is not made. */
  readonly before?: (method: string, collection: string) => unknown;
  /** Runs after the call. If it throws, the answer is lost. */
  readonly after?: (method: string, collection: string) => unknown;
};

/** A document store whose collections report their calls. */
export function watched(documents: DocumentStore, { before, after }: Watch): DocumentStore {
  return {
    ...documents,
    async open(collection) {
      const opened = await documents.open(collection);
      const { name } = collection;
      const call = async <Result>(method: string, make: () => Promise<Result>): Promise<Result> => {
        await before?.(method, name);
        const result = await make();
        await after?.(method, name);
        return result;
      };
      const wrapped: typeof opened = {
        get: (...args) => call('get', () => opened.get(...args)),
        getMany: (...args) => call('getMany', () => opened.getMany(...args)),
        async *find(query) {
          await before?.('find', name);
          yield* opened.find(query);
          await after?.('find', name);
        },
        async *pages(query) {
          await before?.('pages', name);
          yield* opened.pages(query);
          await after?.('pages', name);
        },
        count: (...args) => call('count', () => opened.count(...args)),
        groups: (...args) => call('groups', () => opened.groups(...args)),
        insert: (...args) => call('insert', () => opened.insert(...args)),
        update: (...args) => call('update', () => opened.update(...args)),
        delete: (...args) => call('delete', () => opened.delete(...args)),
        project: (...args) => call('project', () => opened.project(...args)),
        projected: (...args) => call('projected', () => opened.projected(...args)),
      };
      return wrapped;
    },
  };
}
