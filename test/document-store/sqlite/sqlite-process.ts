/**
 * A separate process for tests: `node sqlite-process.ts FOLDER insert PREFIX` inserts forever and prints every key whose insert
 * was acknowledged; `node sqlite-process.ts FOLDER project KEY` projects a document to that key; `node sqlite-process.ts FOLDER count TIMES` increments the counter that many times.
 */

import { openSqliteDocumentStore } from '../../../src/document-store/sqlite/document-store.ts';
import { replace } from '../replace.ts';

const [folder = '', work, argument = ''] = process.argv.slice(2);
const store = await openSqliteDocumentStore({ folder });
const records = await store.open<{ n: number }>({ name: 'records', kind: 'record', indexes: [{ fields: ['n'] }] });

if (work === 'insert') {
  const insert = async (worker: number): Promise<never> => {
    for (let n = 0; ; n++) {
      const key = `${argument}-${worker}-${n}`;
      if (await records.insert(key, { n })) console.log(key);
    }
  };
  await Promise.all([0, 1, 2, 3].map(insert));
} else if (work === 'project') {
  const views = await store.open<{ n: number }>({
    name: 'cachedViews',
    kind: 'readModel',
    generation: 'abcdef01.1',
    indexes: [{ fields: ['n'] }],
  });
  await views.project([{ key: argument, position: '9'.repeat(16), document: { n: 99 } }]);
  await store.close();
} else {
  for (let i = 0; i < Number(argument); ) {
    const counter = await records.get('counter');
    if (counter && (await replace(records, 'counter', { n: counter.document.n + 1 }, counter.version))) i += 1;
  }
  await store.close();
}
