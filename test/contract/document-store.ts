import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type {
  Collection,
  Documents,
  Find,
  NextCheckpoint,
  OperatedDocumentStore,
  Projected,
  Stored,
} from '../../src/document-store/document-store.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { ask } from '../document-store/ask.ts';
import type { TestDatabase } from '../document-store/engines.ts';
import { replace } from '../document-store/replace.ts';
import { lacks } from '../lacks.ts';
import type { Tool } from '../tool.ts';

type Pet = {
  readonly name: string;
  readonly kind: string;
  readonly age?: number;
  readonly tame?: boolean;
  readonly tags?: readonly string[];
};

const pets: Collection<Pet> = {
  name: 'pets@1',
  kind: 'record',
  indexes: [
    { fields: ['kind', 'age'] },
    { fields: ['age'] },
    { fields: ['name'], unique: true },
    { fields: ['tame'] },
    { fields: ['tame', 'age'], where: { kind: 'cat' } },
  ],
};
const petViews: Collection<Pet> = {
  ...pets,
  name: 'petViews',
  kind: 'readModel',
  indexes: [{ fields: ['kind', 'age'] }],
};

/**
 * The contract of the port (`document-store.ts`), for every adapter.
 * @param real the engine itself, where a stand-in may take its place that lacks the features named at the tests that it skips
 */
export function documentStoreContract(createDatabase: () => Promise<TestDatabase>, real?: Tool): void {
  let database: TestDatabase;
  let store: OperatedDocumentStore;
  let documents: Documents<Pet>;

  beforeEach(async () => {
    database = await createDatabase();
    store = await database.open();
    documents = await store.open(pets);
  });
  afterEach(() => database.remove());

  const pet = (name: string, kind = 'cat', more: Partial<Pet> = {}): Pet => ({ name, kind, ...more });
  const keysOf = async (query: Find<Pet>) => (await Array.fromAsync(documents.find(ask(query)))).map(({ key }) => key);

  describe('records', () => {
    it('returns inserted documents and nothing for other keys', async () => {
      expect(await documents.get('1')).toBeUndefined();
      expect(await documents.insert('1', pet('Tom', 'cat', { tags: ['é', '"', '$', 'a.b'] }))).toBe(true);
      expect(await documents.get('1')).toEqual({
        key: '1',
        version: 1,
        document: pet('Tom', 'cat', { tags: ['é', '"', '$', 'a.b'] }),
      });
      expect(await documents.get('2')).toBeUndefined();
      expect((await documents.getMany(['2', '1', '1', '3'])).map(({ key }) => key)).toEqual(['1']);
    });

    it('inserts a key once', async () => {
      const results = await Promise.all(Array.from({ length: 20 }, (_, i) => documents.insert('1', pet(`Tom ${i}`))));
      expect(results.filter(Boolean)).toHaveLength(1);
      expect((await documents.get('1'))?.document.name).toBe(`Tom ${results.indexOf(true)}`);
    });

    it('enforces unique indexes', async () => {
      expect(await documents.insert('1', pet('Tom'))).toBe(true);
      expect(await documents.insert('2', pet('Tom'))).toBe(false);
      expect(await documents.insert('2', pet('Jim'))).toBe(true);
      await expect(replace(documents, '2', pet('Tom'), 1)).rejects.toThrow(Unavailable);
      expect((await documents.get('2'))?.document.name).toBe('Jim');
    });

    it('refuses unique indexes of read models', async () => {
      const unique = { ...pets, name: 'unique', kind: 'readModel' } as const;
      await expect(store.open<Pet>(unique)).rejects.toThrow('unique: a read model cannot have a unique index');
    });

    // mongo-java-server ignores `partialFilterExpression` and treats two absent fields as equal.
    it.skipIf(real !== undefined && lacks(real))('lets any number of documents lack a unique field', async () => {
      const nicknames = await store.open<{ nickname?: string }>({
        name: 'nicknames',
        kind: 'record',
        indexes: [{ fields: ['nickname'], unique: true }],
      });
      expect(await nicknames.insert('1', {})).toBe(true);
      expect(await nicknames.insert('2', {})).toBe(true);
    });

    it('replaces a document only at the version that was read', async () => {
      await documents.insert('1', pet('Tom'));
      expect(await replace(documents, '1', pet('Tim'), 1)).toBe(true);
      expect(await documents.get('1')).toEqual({ key: '1', version: 2, document: pet('Tim') });
      expect(await replace(documents, '1', pet('Jim'), 1)).toBe(false);
      expect(await replace(documents, '2', pet('Jim'), 1)).toBe(false);
      expect(await documents.get('1')).toEqual({ key: '1', version: 2, document: pet('Tim') });
    });

    it('lets exactly one of many concurrent replacements succeed', async () => {
      const other = await (await database.open()).open(pets);
      await documents.insert('1', pet('Tom'));
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, i) => replace(i % 2 ? other : documents, '1', pet(`Tom ${i}`), 1)),
      );
      expect(results.filter(Boolean)).toHaveLength(1);
      expect((await other.get('1'))?.document.name).toBe(`Tom ${results.indexOf(true)}`);
    });

    it('an update changes an existing document, inserts a missing one, or writes nothing if nothing changes', async () => {
      const rename = (name: string) => (before: Pet | undefined) => ({ ...pet(name), tags: [before?.name ?? 'none'] });
      const first = await documents.update('1', rename('Tom'));
      const tom = { key: '1', version: 1, document: pet('Tom', 'cat', { tags: ['none'] }) };
      expect(first).toEqual({ isChanged: true, stored: tom });
      expect(await documents.get('1')).toEqual(tom);
      const tim = { key: '1', version: 2, document: pet('Tim', 'cat', { tags: ['Tom'] }) };
      expect(await documents.update('1', rename('Tim'))).toEqual({ isChanged: true, stored: tim });
      expect(await documents.update('1', () => undefined)).toEqual({ isChanged: false, stored: tim });
      expect(await documents.update('2', () => undefined)).toEqual({ isChanged: false, stored: undefined });
      expect(await documents.get('1')).toEqual(tim);
      await expect(documents.update('1', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    });

    it('loses none of many concurrent updates', async () => {
      const other = await (await database.open()).open(pets);
      const older = async (before: Pet | undefined) => pet('Tom', 'cat', { age: (before?.age ?? 0) + 1 });
      const updates = 300;
      await Promise.all(Array.from({ length: updates }, (_, i) => (i % 2 ? other : documents).update('1', older)));
      const document = pet('Tom', 'cat', { age: updates });
      expect(await documents.get('1')).toEqual({ key: '1', version: updates, document });
    });

    it('starts an update from the document the caller has, and reads only after a conflict', async () => {
      const seen: unknown[] = [];
      const rename = (name: string) => (before: Pet | undefined, version: number) => {
        seen.push([before?.name, version]);
        return pet(name);
      };
      await documents.update('1', rename('Tom'), { stored: undefined });
      const stored = await documents.get('1');
      await documents.update('1', rename('Tim'), { stored });
      await documents.update('1', rename('Jim'), { stored });
      expect(seen).toEqual([
        [undefined, 0],
        ['Tom', 1],
        ['Tom', 1],
        ['Tim', 2],
      ]);
      expect((await documents.get('1'))?.document.name).toBe('Jim');
    });

    it('deletes, optionally only at a version', async () => {
      await documents.insert('1', pet('Tom'));
      expect(await documents.delete('1', 2)).toBe(false);
      expect(await documents.get('1')).toBeDefined();
      expect(await documents.delete('1', 1)).toBe(true);
      expect(await documents.delete('1')).toBe(false);
      expect(await documents.get('1')).toBeUndefined();
      expect(await documents.insert('1', pet('Tom'))).toBe(true);
      expect(await documents.delete('1')).toBe(true);
    });

    it('makes a write visible to every store immediately', async () => {
      const other = await (await database.open()).open(pets);
      expect(await other.get('1')).toBeUndefined();
      await documents.insert('1', pet('Tom'));
      expect((await other.get('1'))?.document.name).toBe('Tom');
      await replace(other, '1', pet('Tim'), 1);
      expect((await documents.get('1'))?.document.name).toBe('Tim');
      await documents.delete('1');
      expect(await other.get('1')).toBeUndefined();
    });

    it('keeps all documents after it is reopened', async () => {
      await documents.insert('1', pet('Tom'));
      await store.close();
      const again = await (await database.open()).open(pets);
      expect((await again.get('1'))?.document.name).toBe('Tom');
    });
  });

  describe('find', () => {
    beforeEach(async () => {
      await documents.insert('a', pet('Ada', 'cat', { age: 3, tame: true }));
      await documents.insert('b', pet('Bob', 'dog', { age: 5, tame: false }));
      await documents.insert('c', pet('Cid', 'cat', { age: 10 }));
      await documents.insert('d', pet('Dot', 'cow', { age: 3, tame: true }));
      await documents.insert('e', pet('Eve', 'cat'));
    });

    it.each<[Find<Pet>, string]>([
      [{}, 'abcde'],
      [{ where: { kind: 'cat' } }, 'ace'],
      [{ where: { kind: 'cat', age: 3 } }, 'a'],
      [{ where: { tame: true } }, 'ad'],
      [{ where: { tame: false } }, 'b'],
      [{ where: { kind: 'cat', tame: true } }, 'a'],
      [{ where: { kind: 'cat', tame: true, age: { from: 1, to: 3 } } }, 'a'],
      [{ where: { kind: 'dog', tame: false, age: { from: 1 } } }, 'b'],
      [{ where: { kind: { in: ['dog', 'cow'] } } }, 'bd'],
      [{ where: { age: { in: [5, 10] } } }, 'bc'],
      [{ where: { kind: { in: [] } } }, ''],
      [{ where: { age: { from: 3, to: 5 } } }, 'abd'],
      [{ where: { age: { above: 3, below: 10 } } }, 'b'],
      [{ where: { age: { from: 4 } } }, 'bc'],
      [{ where: { kind: 'cat', age: { below: 10 } } }, 'a'],
      [{ where: { kind: { in: ['cat', 'dog'] }, age: { from: 4 } } }, 'bc'],
      [{ where: { name: { from: 'B', below: 'D' } } }, 'bc'],
      [{ where: { kind: 'hen' } }, ''],
    ])('finds %j', async (query, keys) => {
      expect((await keysOf(query)).sort().join('')).toBe(keys);
      expect(await documents.count(ask(query))).toBe(keys.length);
    });

    it('counts all matching documents', async () => {
      expect(await documents.count(ask())).toBe(5);
      expect(await documents.count(ask(), 3)).toBe(3);
      expect(await documents.count(ask({ where: { kind: 'cat' } }), 9)).toBe(
        (await keysOf({ where: { kind: 'cat' } })).length,
      );
    });

    it.each<[Find<Pet>, string]>([
      [{ sort: [{ field: 'name', direction: 'descending' }] }, 'edcba'],
      [{ sort: [{ field: 'age' }] }, 'eadbc'],
      [{ sort: [{ field: 'age', direction: 'descending' }] }, 'cbdae'],
      [{ sort: [{ field: 'age' }], limit: 3 }, 'ead'],
      [{ where: { kind: 'cat' }, sort: [{ field: 'age', direction: 'descending' }] }, 'cae'],
      [{ sort: [{ field: 'kind' }, { field: 'age' }] }, 'eacdb'],
      [{ limit: 0 }, ''],
    ])('sorts %j', async (query, keys) => {
      expect((await keysOf(query)).join('')).toBe(keys);
    });

    it.each<[Find<Pet>, string]>([
      [{ where: { age: { exists: false } } }, 'e'],
      [{ where: { kind: 'cat', age: { exists: true } } }, 'ac'],
      [{ where: { tame: { exists: false }, age: { exists: true } } }, 'c'],
      [{ where: { name: { from: 'B' }, age: { below: 10 }, tame: true } }, 'd'],
      [{ where: { tame: true, age: { from: 3, to: 3 }, name: { above: 'Ada' } } }, 'd'],
    ])('finds %j by several ranges and by presence', async (query, keys) => {
      // A tombstone lacks every field.
      await documents.insert('x', pet('Xim', 'cat', { age: 3 }));
      await documents.project([{ key: 'x', position: '1', document: undefined }]);
      expect((await keysOf(query)).sort().join('')).toBe(keys);
      expect(await documents.count(ask(query))).toBe(keys.length);
    });

    const byAge = [{ field: 'age' }, { field: 'name' }] as const;
    const byAgeDown = byAge.map(({ field }) => ({ field, direction: 'descending' }) as const);
    it.each<[Find<Pet>, string]>([
      [{ where: { age: { exists: true } }, sort: byAge, after: [3, 'Ada'] }, 'dbc'],
      [{ where: { age: { exists: true } }, sort: byAge, after: [3, 'Aaa'] }, 'adbc'],
      [{ where: { age: { exists: true } }, sort: byAge, after: [3, 'Dot'], limit: 1 }, 'b'],
      [{ where: { age: { exists: true } }, sort: byAge, after: [10, 'Cid'] }, ''],
      [{ where: { age: { exists: true } }, sort: byAgeDown, after: [5, 'Bob'] }, 'da'],
      [{ where: { kind: 'cat', age: { to: 9 } }, sort: byAge, after: [2, 'Zoe'] }, 'a'],
      [{ where: { age: 3 }, sort: byAge, after: [3, 'Ada'] }, 'd'],
      [{ where: { age: { from: 5 } }, sort: byAge, after: [3, 'Ada'] }, 'bc'],
      [{ where: { age: { above: 3 } }, sort: byAge, after: [3, 'Ada'] }, 'bc'],
      [{ where: { age: { to: 5 } }, sort: byAge, after: [10, 'Ada'] }, ''],
      [{ where: { age: { to: 5 } }, sort: byAgeDown, after: [10, 'Cid'] }, 'bda'],
      [{ where: { age: { from: 3 }, name: { from: 'B' } }, sort: byAge, after: [3, 'Aaa'] }, 'dbc'],
    ])('continues %j after the values of the last page', async (query, keys) => {
      expect((await keysOf(query)).join('')).toBe(keys);
    });

    it('pages through documents with equal values, each exactly once', async () => {
      const all = Array.from({ length: 700 }, (_, i) => ({ name: `p${String(i).padStart(3, '0')}`, age: i % 3 }));
      const views = await store.open(petViews);
      await views.project(
        all.map((one, i) => ({ key: `${i}`, position: '1', document: pet(one.name, 'cat', { age: one.age }) })),
      );
      for (const sort of [byAge, byAgeDown]) {
        const names: string[] = [];
        for (let after: [number, string] | undefined, size = 40; size === 40; ) {
          const query: Find<Pet> = { where: { kind: 'cat' }, sort, limit: 40, ...(after && { after }) };
          const page = views.find(ask(query));
          const found = await Array.fromAsync(page, ({ document }) => document);
          names.push(...found.map(({ name }) => name));
          const last = found.at(-1);
          if (last !== undefined) after = [last.age ?? 0, last.name];
          size = found.length;
        }
        const expected = all.toSorted((a, b) => a.age - b.age || (a.name < b.name ? -1 : 1)).map(({ name }) => name);
        expect(names).toEqual(sort === byAge ? expected : expected.toReversed());
      }
    });

    it('counts and adds up groups', async () => {
      const groups = async (...[query, by, sums]: Parameters<typeof documents.groups<keyof Pet, 'age'>>) =>
        (await documents.groups(query, by, sums))
          .map(({ values, count, sums: added }) => [JSON.stringify(values), count, added.get('age')])
          .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
      expect(await groups(ask(), ['kind'], ['age'])).toEqual([
        ['{"kind":"cat"}', 3, 13],
        ['{"kind":"cow"}', 1, 3],
        ['{"kind":"dog"}', 1, 5],
      ]);
      // `petViews` has no index with the name, so that one engine cannot group in SQL.
      const views = await store.open(petViews);
      await views.project(
        ['a', 'b', 'x'].map((key) => ({ key, position: '1', document: pet(key, 'cat', { age: 2 }) })),
      );
      await views.project([{ key: 'x', position: '2', document: undefined }]);
      expect(await views.groups(ask({ where: { kind: 'cat' } }), ['name', 'kind'], ['age'])).toHaveLength(2);
      expect(await views.groups(ask({ where: { age: { from: 1 } }, limit: 1 }), ['kind'], ['age'])).toEqual([
        { values: { kind: 'cat' }, count: 2, sums: new Map([['age', 4]]) },
      ]);
      expect(await views.groups(ask({ where: { kind: 'cow' } }), ['kind'])).toEqual([]);
      expect(await views.groups(ask(), [], ['age'])).toEqual([{ values: {}, count: 2, sums: new Map([['age', 4]]) }]);
    });

    it('returns fresh results after every write, in every store', async () => {
      const other = await (await database.open()).open(pets);
      const query = ask<Pet>({ where: { kind: 'cat' } });
      const cats = async (from: Documents<Pet>) => {
        const found = await Array.fromAsync(from.find(query));
        return found.map(({ document: { name } }) => name).sort();
      };
      const all = async () => [await cats(documents), await cats(other)];

      expect(await all()).toEqual([
        ['Ada', 'Cid', 'Eve'],
        ['Ada', 'Cid', 'Eve'],
      ]);
      await documents.insert('f', pet('Fay'));
      expect(await all()).toEqual([
        ['Ada', 'Cid', 'Eve', 'Fay'],
        ['Ada', 'Cid', 'Eve', 'Fay'],
      ]);
      await replace(other, 'f', pet('Flo'), 1);
      await other.delete('a');
      expect(await all()).toEqual([
        ['Cid', 'Eve', 'Flo'],
        ['Cid', 'Eve', 'Flo'],
      ]);
      await documents.project([{ key: 'e', position: '1', document: undefined }]);
      expect(await all()).toEqual([
        ['Cid', 'Flo'],
        ['Cid', 'Flo'],
      ]);
    });

    it('returns versions that can be replaced', async () => {
      for await (const { key, version, document } of documents.find(ask({ where: { kind: 'cat' } }))) {
        expect(await replace(documents, key, { ...document, kind: 'lion' }, version)).toBe(true);
      }
      expect(await documents.count(ask({ where: { kind: 'lion' } }))).toBe(3);
    });

    it('adds a document to a partial index and removes it when its value changes', async () => {
      const tameCats = async () => {
        const query: Find<Pet> = { where: { kind: 'cat', tame: true }, sort: [{ field: 'age' }] };
        expect(await documents.count(ask(query))).toBe((await keysOf(query)).length);
        return (await keysOf(query)).join('');
      };
      const bob = pet('Bob', 'dog', { age: 5, tame: false });
      const changed = { ...bob, kind: 'cat', tame: true };
      expect(await replace(documents, 'b', changed, 1)).toBe(true);
      expect(await tameCats()).toBe('ab');
      expect(await replace(documents, 'b', { ...changed, age: 1 }, 2)).toBe(true);
      expect(await tameCats()).toBe('ba');
      expect(await replace(documents, 'b', bob, 1)).toBe(false);
      expect(await replace(documents, 'b', { ...bob, tame: true }, 3)).toBe(true);
      expect(await tameCats()).toBe('a');
      await documents.delete('a');
      expect(await tameCats()).toBe('');
    });

    it('stops reading when its reader stops', async () => {
      const seen: string[] = [];
      for await (const { key } of documents.find(ask())) {
        seen.push(key);
        break;
      }
      expect(seen).toHaveLength(1);
      expect(await documents.count(ask())).toBe(5);
    });
  });

  it('streams many documents exactly once, in order, while others are added and removed', async () => {
    const views = await store.open(petViews);
    const total = 2_000;
    const key = (i: number) => String(i).padStart(6, '0');
    await views.project(
      Array.from({ length: total }, (_, i) => ({
        key: key(i),
        position: '1',
        document: pet(`p${i}`, i % 2 === 0 ? 'cat' : 'dog', i % 3 === 0 ? {} : { age: i % 50 }),
      })),
    );
    const check = async (query: Find<Pet>, expected: number, order?: (document: Pet) => number) => {
      const seen = new Map<string, Pet>();
      let n = 0;
      for await (const stored of views.find(ask(query))) {
        if (Number(stored.key) >= total) continue;
        expect(seen.has(stored.key)).toBe(false);
        seen.set(stored.key, stored.document);
        n += 1;
        if (n % 400 === 0) {
          await views.project([
            { key: key(total + n), position: '2', document: pet(`n${n}`, 'cat', { age: n % 50 }) },
            { key: key(total + n - 400), position: '3', document: undefined },
          ]);
        }
      }
      expect(seen.size).toBe(expected);
      if (order !== undefined) {
        const values = [...seen.values()].map(order);
        expect(values).toEqual(values.toSorted((a, b) => a - b));
      }
    };
    const age = ({ age = -1 }: Pet) => age;
    await check({}, total);
    await check({ where: { kind: 'cat' } }, total / 2);
    await check({ where: { kind: 'cat' }, sort: [{ field: 'age' }] }, total / 2, age);
    await check(
      { where: { kind: 'cat' }, sort: [{ field: 'age', direction: 'descending' }] },
      total / 2,
      (p) => -age(p),
    );
    await check({ where: { kind: { in: ['dog', 'cat'] }, age: { from: 0 } } }, total - Math.ceil(total / 3));
    expect(
      await Array.fromAsync(views.find(ask<Pet>({ where: { kind: 'cat' }, sort: [{ field: 'age' }], limit: 700 }))),
    ).toHaveLength(700);
  });

  it('streams the same documents in pages as one by one, with versions that change at each write', async () => {
    const views = await store.open(petViews);
    const key = (i: number) => String(i).padStart(6, '0');
    await views.project(
      Array.from({ length: 2_500 }, (_, i) => ({
        key: key(i),
        position: '1',
        document: pet(`p${i}`, i % 5 === 0 ? 'cat' : 'dog', i % 3 === 0 ? {} : { age: i % 50 }),
      })),
    );
    const paged = async (query: Find<Pet>) =>
      (await Array.fromAsync(views.pages(ask(query))))
        .flat()
        .map((row): Stored<Pet> => ({ key: row.key, version: row.version, document: row.read() }));
    const queries: Find<Pet>[] = [
      {},
      { where: { kind: 'dog' }, sort: [{ field: 'age' }] },
      { where: { kind: 'dog' }, sort: [{ field: 'age', direction: 'descending' }], limit: 1_500 },
      { where: { kind: 'bird' } },
    ];
    for (const query of queries) expect(await paged(query)).toEqual(await Array.fromAsync(views.find(ask(query))));
    const cats: Find<Pet> = { where: { kind: 'cat' } };
    const before = new Map((await paged(cats)).map((row) => [row.key, row.version]));
    await views.project([{ key: key(0), position: '2', document: pet('p0', 'cat', { age: 7 }) }]);
    const changed = (await paged(cats)).filter((row) => before.get(row.key) !== row.version);
    expect(changed.map((row) => row.key)).toEqual([key(0)]);
  });

  describe('project', () => {
    let views: Documents<Pet>;
    beforeEach(async () => {
      views = await store.open(petViews);
    });
    const write = (key: string, position: string, name?: string): Projected<Pet> => ({
      key,
      position,
      document: name === undefined ? undefined : pet(name),
    });

    it('writes documents that are visible to readers', async () => {
      await views.project([write('1', '05', 'Tom'), write('2', '06', 'Jim')]);
      expect((await views.get('1'))?.document).toEqual(pet('Tom'));
      expect((await views.getMany(['1', '2'])).map(({ document }) => document.name)).toEqual(['Tom', 'Jim']);
      expect(await views.count(ask())).toBe(2);
    });

    it('never moves a document backward', async () => {
      await views.project([write('1', '05', 'Tom')]);
      await views.project([write('1', '04', 'Old')]);
      await views.project([write('1', '05', 'Same')]);
      expect((await views.get('1'))?.document.name).toBe('Tom');
      await views.project([write('1', '06', 'New')]);
      expect(await views.get('1')).toEqual({ key: '1', version: 2, document: pet('New') });
    });

    it('leaves a tombstone that keeps its position and is invisible to readers', async () => {
      await views.project([write('1', '05', 'Tom'), write('2', '05', 'Jim')]);
      await views.project([write('1', '07')]);
      expect(await views.get('1')).toBeUndefined();
      expect(await views.getMany(['1', '2'])).toHaveLength(1);
      expect(await views.count(ask())).toBe(1);
      expect(await Array.fromAsync(views.find(ask({ where: { kind: 'cat' } })))).toHaveLength(1);
      await views.project([write('1', '06', 'Revenant')]);
      expect(await views.get('1')).toBeUndefined();
      await views.project([write('1', '08', 'Tom II')]);
      expect((await views.get('1'))?.document.name).toBe('Tom II');
    });

    it('returns the positions of keys, tombstones included', async () => {
      await views.project([write('1', '05', 'Tom'), write('2', '06', 'Jim')]);
      await views.project([write('2', '07')]);
      expect(await views.projected(['1', '2', '3'])).toEqual(
        new Map([
          ['1', { key: '1', position: '05', document: pet('Tom') }],
          ['2', { key: '2', position: '07', document: undefined }],
        ]),
      );
    });

    it('accepts the same key several times in a batch, and an empty batch', async () => {
      await views.project([]);
      await views.project([write('1', '05', 'Tom'), write('1', '06', 'Tim'), write('1', '04', 'Old')]);
      expect((await views.get('1'))?.document.name).toBe('Tim');
    });

    it('ends at the highest position of each key for any writers in any order', async () => {
      const other = await (await database.open()).open(petViews);
      await fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.record({
              key: fc.constantFrom('x', 'y', 'z'),
              at: fc.nat(99),
              gone: fc.boolean(),
              elsewhere: fc.boolean(),
            }),
            { maxLength: 12 },
          ),
          fc.nat(1e9),
          async (steps, run) => {
            // Writes at the same position are identical, as when the same log is folded.
            const goneAt = new Map(steps.map(({ key, at, gone }) => [`${key}${at}`, gone]));
            const prefix = `${run}-${Math.random()}-`;
            const writes = steps.map(({ key, at, elsewhere }) => ({
              elsewhere,
              write: write(
                prefix + key,
                String(at).padStart(2, '0'),
                goneAt.get(`${key}${at}`) ? undefined : `${key}${at}`,
              ),
            }));
            await Promise.all(writes.map(({ write, elsewhere }) => (elsewhere ? other : views).project([write])));
            for (const key of ['x', 'y', 'z']) {
              const last = writes
                .map(({ write }) => write)
                .filter((write) => write.key === prefix + key)
                .sort((a, b) => (a.position < b.position ? -1 : 1))
                .at(-1);
              for (const reader of [views, other]) {
                expect((await reader.get(prefix + key))?.document).toEqual(last?.document);
              }
            }
          },
        ),
        { numRuns: 30 },
      );
    });
  });

  describe('generations', () => {
    const GENERATION = 'abcdef01.7';
    const cats: Collection<Pet> = { ...petViews, name: 'cats', generation: GENERATION };
    const dogs: Collection<Pet> = { ...petViews, name: 'dogs', generation: GENERATION };
    const position = (n: number) => String(n).padStart(16, '0');
    const checkpoint = (at: number, after?: number): NextCheckpoint => ({
      position: position(at),
      events: at,
      failing: [],
      after: after === undefined ? '' : position(after),
    });
    const many = (count: number, at: number, kind = 'cat', isNew = true) =>
      Array.from({ length: count }, (_, i) => ({
        key: String(i),
        position: position(at),
        document: pet(`Pet ${i}`, kind, { age: i }),
        isNew,
      }));

    it('writes the documents of several collections with one checkpoint, only if it follows the stored one', async () => {
      const other = await database.open();
      for (const each of [store, other]) for (const collection of [cats, dogs]) await each.open(collection);
      expect(await store.checkpoints()).toEqual(new Map());
      let seen = 0;
      const writes = new Map([
        ['cats', many(400, 5)],
        ['dogs', many(3, 5, 'dog')],
      ]);
      expect(await store.project(GENERATION, writes, checkpoint(5), () => seen++)).toBe(true);
      expect(seen).toBe(1);
      const failing = [{ name: 'dogs', position: position(5), message: 'poison', attempts: 1 }];
      expect(await store.project(GENERATION, new Map(), { ...checkpoint(5, 5), failing })).toBe(true);
      expect(await other.project(GENERATION, new Map(), checkpoint(6, 4))).toBe(false);
      expect(await other.project(GENERATION, new Map(), checkpoint(6))).toBe(false);
      const stored = new Map([[GENERATION, { position: position(5), events: 5, failing }]]);
      for (const reader of [store, other]) {
        expect(await reader.checkpoints()).toEqual(stored);
        expect(await reader.checkpoints([GENERATION, 'abcdef01.8'])).toEqual(stored);
        expect(await reader.checkpoints(['abcdef01.8'])).toEqual(new Map());
        expect(await (await reader.open(cats)).count(ask())).toBe(400);
        expect(await (await reader.open(dogs)).count(ask())).toBe(3);
      }
    });

    it('lets only one of two projectors move a checkpoint', async () => {
      const other = await database.open();
      let after = '';
      for (let step = 1; step <= 20; step++) {
        const next = { ...checkpoint(step), after };
        const moved = await Promise.all([
          store.project(GENERATION, new Map(), next),
          other.project(GENERATION, new Map(), { ...next, position: `${next.position}-` }),
        ]);
        expect(moved.filter(Boolean)).toHaveLength(1);
        after = (await store.checkpoints()).get(GENERATION)?.position ?? '';
      }
    });

    it('can be built without indexes, which are made last, also by two processes at once', async () => {
      const stores = [store, await database.open()];
      await Promise.all(
        stores.map(async (each, i) => {
          const views = await each.openWithoutIndexes(cats);
          await views.project(many(1_500, 1));
          await views.project(many(900, 2 + i, `kind ${2 + i}`, false));
          await each.makeIndexes(cats);
        }),
      );
      for (const reader of [...stores, await database.open()]) {
        const views = await reader.open(cats);
        expect(await views.count(ask())).toBe(1_500);
        expect(await views.count(ask({ where: { kind: 'kind 3' } }))).toBe(900);
        const found = await Array.fromAsync(views.find(ask({ where: { kind: 'kind 3', age: { to: 2 } } })));
        expect(found.map(({ key }) => key)).toEqual(['0', '1', '2']);
      }
    });

    it('moves no document backward, even when it is taken for new', async () => {
      const views = await store.open(cats);
      await views.project(many(5, 5));
      await views.project([...many(3, 4, 'dog'), ...many(5, 6, 'cow').slice(3)]);
      expect(await views.count(ask({ where: { kind: 'dog' } }))).toBe(0);
      expect(await views.count(ask({ where: { kind: 'cow' } }))).toBe(2);
    });

    it('counts as one collection, and is dropped as one with its checkpoint', async () => {
      for (const collection of [cats, dogs]) await store.open(collection);
      await store.project(GENERATION, new Map([['cats', many(600, 1)]]), checkpoint(1));
      expect((await store.names()).filter((name) => name.startsWith('abcdef01'))).toEqual([GENERATION]);
      expect(await (await database.open()).collections()).toContainEqual({ name: GENERATION, kind: 'readModel' });
      await store.drop(GENERATION);
      expect(await store.names()).not.toContain(GENERATION);
      expect(await store.checkpoints()).toEqual(new Map());
      expect(await (await store.open(cats)).count(ask())).toBe(0);
      expect(await store.project(GENERATION, new Map(), checkpoint(6, 1))).toBe(false);
    });
  });

  describe('collections', () => {
    it('returns the same collection when it is opened twice', async () => {
      const again = await store.open(pets);
      await documents.insert('1', pet('Tom'));
      const found: Stored<Pet> | undefined = await again.get('1');
      expect(found?.document.name).toBe('Tom');
      await replace(again, '1', pet('Tim'), 1);
      expect((await documents.get('1'))?.document.name).toBe('Tim');
    });

    it('can be opened by several stores concurrently', async () => {
      const stores = await Promise.all([database.open(), database.open(), database.open()]);
      const collections = await Promise.all(stores.map((each) => each.open({ ...pets, name: 'fresh' })));
      const results = await Promise.all(collections.map((each) => each.insert('1', pet('Tom'))));
      expect(results.filter(Boolean)).toHaveLength(1);
    });

    it('supports indexes that are added later, even for documents written by a store that does not know them', async () => {
      const plain = await store.open<Pet>({ ...pets, name: 'later', indexes: [] });
      const tom = pet('Tom', 'cat', { age: 3, tame: true });
      await plain.insert('1', tom);
      await plain.insert('2', pet('Tim', 'dog', { age: 4 }));
      const later = await (await database.open()).open<Pet>({ ...pets, name: 'later' });
      const found = async () => {
        const query: Find<Pet> = { where: { kind: 'cat', age: { from: 1 } }, sort: [{ field: 'age' }] };
        return (await Array.fromAsync(later.find(ask(query)))).map(({ key }) => key).join('');
      };
      expect(await found()).toBe('1');
      expect(await later.insert('x', pet('Tom'))).toBe(false);
      expect(await plain.insert('3', pet('Eve', 'cat', { age: 1 }))).toBe(true);
      expect(await plain.insert('x', pet('Tim'))).toBe(false);
      expect(await replace(plain, '1', { ...tom, age: 5 }, 1)).toBe(true);
      expect(await replace(plain, '2', pet('Tim', 'cat', { age: 2 }), 1)).toBe(true);
      expect(await found()).toBe('321');
      expect(await later.count(ask({ where: { tame: true } }))).toBe(1);
    });

    it('lists collections and drops them with their documents', async () => {
      const views = await store.open(petViews);
      await views.project([{ key: '1', position: '1', document: pet('Tom') }]);
      await documents.insert('1', pet('Tom'));
      expect((await views.get('1'))?.document.name).toBe('Tom');
      expect(await store.names()).toEqual([petViews.name, pets.name]);
      await store.drop(petViews.name);
      await store.drop('neverThere');
      expect(await store.names()).toEqual([pets.name]);
      const again = await store.open(petViews);
      expect(await again.get('1')).toBeUndefined();
      expect(await again.count(ask())).toBe(0);
      expect(await documents.count(ask())).toBe(1);
    });

    it('recreates an open collection that another process has dropped', async () => {
      await (await store.open(petViews)).project([{ key: '1', position: '1', document: pet('Tom') }]);
      const other = await database.open();
      for (let round = 0; round < 2; round++) {
        await other.drop(petViews.name);
        const views = await store.open(petViews);
        expect(await store.collections()).toContainEqual({ name: petViews.name, kind: 'readModel' });
        expect(await views.count(ask())).toBe(0);
        await views.project([{ key: '1', position: '1', document: pet('Tim') }]);
        expect((await (await other.open(petViews)).get('1'))?.document.name).toBe('Tim');
      }
    });

    it('stores the declarations of collections, including those of other processes', async () => {
      await store.open(petViews);
      const visits: Collection<{ readonly until: string }> = {
        name: 'visits',
        kind: 'record',
        ttl: 'until',
        indexes: [],
      };
      await store.open(visits);
      const declared = [
        { name: petViews.name, kind: 'readModel' },
        { name: pets.name, kind: 'record' },
        { name: visits.name, kind: 'record', ttl: 'until' },
      ];
      expect(await store.collections()).toEqual(declared);
      const kinds = declared.map(({ name, kind }) => expect.objectContaining({ name, kind }));
      expect(await (await database.open()).collections()).toEqual(kinds);
      await store.drop(visits.name);
      expect(await store.collections()).toEqual(declared.slice(0, 2));
    });

    it('returns the time of its own clock, if it has one', async () => {
      const before = Date.now();
      const time = (await store.now()) ?? before;
      // A real server may run on another machine.
      expect(time).toBeGreaterThanOrEqual(before - 5_000);
      expect(time).toBeLessThanOrEqual(Date.now() + 5_000);
    });

    it('responds to a ping until it is closed', async () => {
      await store.ping();
      await store.close();
      await expect(store.ping()).rejects.toThrow();
      await expect(documents.insert('1', pet('Tom'))).rejects.toThrow();
    });
  });
}
