import { expect, test } from 'vitest';
import { mutantsOf } from './mutants.ts';

const changes = (source: string) =>
  mutantsOf(source).map(({ start, end, after }) => source.slice(0, start) + after + source.slice(end));

test.each<[string, readonly string[]]>([
  ['f(a && b);', [';', 'f(a || b);']],
  ['x = a < 1;', [';', 'x = a <= 1;', 'x = a < 2;']],
  ['x = é + 1 - 2;', [';', 'x = é - 1 - 2;', 'x = é + 2 - 2;', 'x = é + 1 + 2;', 'x = é + 1 - 3;']],
  ["x = 'a' + b;", [';']],
  ['if (f(a)) g();', [';', 'if (!(f(a))) g();', 'if (f(a)) ;']],
  ['const x = a === b ? c : d;', ['const x = a !== b ? c : d;']],
  ['const f = () => !a;', ['const f = () => a;']],
  ['function f(): boolean { return true; }', ['function f(): boolean { return false; }']],
  ['const x = { ...a };', ['const x = { ...{} };']],
  ['const x = [...a];', ['const x = [...[]];']],
  ['const x = Math.max(a, b);', ['const x = Math.min(a, b);']],
  ['const x = a.some(b);', ['const x = a.every(b);']],
  ['throw new Error();', [';']],
  // The compiler notices these, and nothing is to notice those.
  ['const KEYS = { a: true, b: true } as const satisfies T;', []],
  ['type T = 1 | true;', []],
  ['event satisfies never;', []],
  ["logger.warn({ a: 1 }, 'x');", []],
  ['const of = { version: 3 };', []],
])('%s', (source, expected) => {
  expect(changes(source)).toEqual(expected);
});
