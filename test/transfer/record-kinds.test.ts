import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RECORD_KINDS } from '../../src/transfer/record-kinds.ts';

const SOURCE = new URL('../../src/', import.meta.url).pathname;
/** These files open any collection. */
const OPENS_ANY = /^(transfer|document-store)\//;

/** The declarations of collections of records in the source: their names, their `ttl`, and whether the file knows positions. */
function declared() {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return files
    .filter((file) => !OPENS_ANY.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(SOURCE, file), 'utf8');
      return [...text.matchAll(/\{[^{}]*?kind: 'record'[^{}]*/g)].map(([literal]) => {
        const name =
          /name: '(\w+)'/.exec(literal)?.[1] ?? expect.fail(`${file} declares records without a name: ${literal}`);
        return { name, ttl: /ttl: '(\w+)'/.exec(literal)?.[1], file, text };
      });
    });
}

test('RECORD_KINDS lists every collection of records with its ttl', () => {
  const found = declared();
  expect(found.length).toBeGreaterThan(15);
  const listed = Object.entries(RECORD_KINDS).map(([name, { ttl }]) => ({ name, ttl }));
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
  expect(found.map(({ name, ttl }) => ({ name, ttl })).sort(byName)).toEqual(listed.sort(byName));
});

test('RECORD_KINDS lists every field of a record that holds a position', () => {
  for (const { name, file, text } of declared()) {
    // Of the type of the record, which stands beside the declaration.
    const fields = [
      ...text.matchAll(/^\s+readonly (\w+)\??: Position;|\{ readonly (\w+): (?:Position|Marks) \}/gm),
    ].map(([, inLine, alone]) => inLine ?? alone);
    const { positions = [], stays } = RECORD_KINDS[name] ?? {};
    const holdsThem = fields.length > 0 && text.includes(`name: '${name}'`) && stays === undefined;
    if (positions.length > 0) expect(fields, `${name} in ${file}`).toEqual([...positions]);
    else if (holdsThem && name !== 'apiKeyIndex') expect.fail(`${name} in ${file} has positions: ${fields}`);
  }
});
