import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { slowPatterns } from './patterns.ts';

const NONE = new Map<string, string>();
const inFile = (text: string) => slowPatterns([{ file: 'planted.ts', text }], NONE);

test.each([
  String.raw`const moment = /^(.+?)(?:T|,?\s+)(\d{1,2}):(\d{2})(?::(\d{2}))?$/;`,
  'const field = /^(?:csrf|once|.*password.*)$/i;',
  'const end = (text: string) => text.replace(/=+$/, "");',
  "const schema = { pattern: '^(a+)+$' };",
])('the check refuses %s', async (planted) => {
  const [problem, ...others] = await inFile(`// A comment.\nconst é = 1;\n${planted}\n`);
  expect(others).toEqual([]);
  expect(problem).toMatch(/^planted\.ts:3 .*: takes .* time, such as for/);
});

test('the check refuses a pattern that it cannot read, unless it was reviewed', async () => {
  const planted = 'const é = "ä";\nconst of = (name: string) => new RegExp(name, "u"); // é\n';
  const shown = 'new RegExp(name, "u")';
  const wanted = 'write it as a literal, or review it (test/patterns/patterns.ts)';
  expect(await inFile(planted)).toEqual([`planted.ts:2 ${shown}: ${wanted}`]);
  const reviewed = new Map([[shown, 'A reason.']]);
  expect(await slowPatterns([{ file: 'planted.ts', text: planted }], reviewed)).toEqual([]);
  expect(await slowPatterns([], reviewed)).toEqual([`${shown} is in the list of reviewed patterns only`]);
});

test('the check accepts linear patterns, and is part of npm run check', async () => {
  expect(await inFile(String.raw`const time = /[T\s](\d{1,2}):(\d{2})$/; const word = /^\w+$/;`)).toEqual([]);
  const { scripts }: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  expect(scripts.check).toContain('check:patterns');
  expect(scripts['check:patterns']).toBe('node test/patterns/check-patterns.ts');
});
