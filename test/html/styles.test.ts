import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = new URL('../..', import.meta.url).pathname;
const textOf = (pattern: string): string =>
  globSync(pattern, { cwd: ROOT })
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('\n');

/** Words in comments and names of variables count, too: every-page.test.ts looks for whole selectors, in a browser. */
const SOURCE = textOf('src/{authorization-server,console,description,html,mail}/**/*.{ts,js}');
const words = new Set(SOURCE.match(/[\w-]+/g));
/** Such as `tone-` of `class="tone-${number}"`. */
const prefixes = new Set(Array.from(SOURCE.matchAll(/([\w-]+-)\$\{/g), ([, prefix]) => prefix));

/** The classes, ids and `data-` attributes of selectors, without their signs. */
function namesIn(css: string): readonly string[] {
  const selectors = css.replaceAll(/\/\*[\s\S]*?\*\//g, '').match(/[^{};]+(?=\{)/g) ?? [];
  return selectors
    .filter((selector) => !selector.trim().startsWith('@'))
    .flatMap((selector) =>
      Array.from(selector.matchAll(/(?:[.#]|\[(?=data-))([a-z][\w-]*)/g), ([, name]) => name ?? ''),
    );
}

const isMade = (name: string): boolean => words.has(name) || prefixes.has(name.replace(/[^-]*$/, ''));

test('every class, id and data attribute of the stylesheets is in a source that makes pages', () => {
  const names = new Set(namesIn(textOf('src/html/assets/*.css')));
  expect(names.size).toBeGreaterThan(150);
  expect([...names].filter((name) => !isMade(name))).toEqual([]);
});

test('a class that nothing makes is found', () => {
  expect(
    namesIn('@media print { .row:has(> .never-made) { .is-pending, #day { color: red } } }').filter(
      (name) => !isMade(name),
    ),
  ).toEqual(['never-made']);
});
