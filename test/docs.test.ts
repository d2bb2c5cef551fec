import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { HOUR, IDEMPOTENCY_KEY, MAX_YEARS_AHEAD, MESSAGE } from '../src/domain/limits.ts';

const ROOT = new URL('..', import.meta.url).pathname;
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const CODE = globSync(['src/**/*.ts', 'projections/**/*.ts', 'test/**/*.ts'], {
  cwd: ROOT,
  exclude: ['**/node_modules/**'],
});
const PAGES = [
  ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'src/README.md'],
  ...globSync('docs/**/*.md', { cwd: ROOT }),
].filter((path) => existsSync(join(ROOT, path)));

/** The anchors of a page, as GitHub derives them from its headings. */
const anchorsOf = (path: string): string[] =>
  [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** The problem of a reference to a file of this repository, if any. */
function problemOf(path: string, anchor: string | undefined): string | undefined {
  if (!existsSync(join(ROOT, path))) return 'no such file';
  if (anchor === undefined || statSync(join(ROOT, path)).isDirectory()) return undefined;
  return anchorsOf(path).includes(anchor) ? undefined : 'no such heading';
}

test('every page and heading cited in code exists', () => {
  let citations = 0;
  const broken: string[] = [];
  for (const file of CODE) {
    for (const [cited, path = '', anchor] of read(file).matchAll(/\b(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g)) {
      citations += 1;
      const problem = problemOf(path, anchor);
      if (problem !== undefined) broken.push(`${file}: ${cited}: ${problem}`);
    }
  }
  expect(broken).toEqual([]);
  expect(citations).toBeGreaterThan(40);
});

test('every relative link of a page has a target', () => {
  const broken: string[] = [];
  for (const page of PAGES) {
    for (const [, target = ''] of read(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = '', anchor] = target.split('#', 2);
      const linked = path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path));
      const problem = problemOf(linked, anchor);
      if (problem !== undefined) broken.push(`${page}: ${target}: ${problem}`);
    }
  }
  expect(broken).toEqual([]);
});

test('every source file and folder that a page names exists', () => {
  const missing: string[] = [];
  let named = 0;
  for (const page of PAGES) {
    // The map in src names files relative to src.
    const roots = page === 'src/README.md' ? ['src', '.'] : ['.'];
    for (const [, path = ''] of read(page).matchAll(/`((?:[\w-]+\/)+(?:[\w.-]+\.(?:ts|js|mjs|md))?)`/g)) {
      if (roots.length === 1 && !/^(?:src|projections|test|docs)\//.test(path)) continue;
      named += 1;
      if (!roots.some((root) => existsSync(join(ROOT, root, path)))) missing.push(`${page}: ${path}`);
    }
  }
  expect(missing).toEqual([]);
  expect(named).toBeGreaterThan(50);
});

test('the index lists every decision', () => {
  const listed = [...read('docs/decisions/README.md').matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, path]) => path);
  const pages = globSync('*.md', { cwd: join(ROOT, 'docs/decisions') }).filter((path) => path !== 'README.md');
  expect(listed.toSorted()).toEqual(pages.toSorted());
});

/** The rows of a page's tables whose last cell names no test, or one that does not exist. */
function rowsWithoutTest(page: string, heading: string, columns: number) {
  const cells = [...read(page).matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.split(' | '));
  const rows = cells.filter(([first = '']) => first !== heading && !first.startsWith('--'));
  const broken = rows.filter((row) => {
    const files = [...(row.at(-1) ?? '').matchAll(/\]\((?:\.\.\/)?(test\/[^)]+\.ts)\)/g)].map(([, path = '']) => path);
    const exists = (path: string) => existsSync(join(ROOT, path)) && /\b(test|it)\b/.test(read(path));
    return row.length !== columns || files.length === 0 || !files.every(exists);
  });
  return { rows: rows.length, broken: broken.map((row) => row.join(' | ')) };
}

test('every promise, and every threat, names a test that exists', () => {
  const promises = rowsWithoutTest('docs/promises.md', 'Promise', 3);
  const threats = rowsWithoutTest('SECURITY.md', 'Who', 4);
  expect({ promises: promises.broken, threats: threats.broken }).toEqual({ promises: [], threats: [] });
  expect(promises.rows).toBeGreaterThan(40);
  expect(threats.rows).toBeGreaterThan(15);
});

test('code cites only pages of this repository', () => {
  const elsewhere = /\bDESIGN(?: §|\.md)|\bSPEC\b|\bOIDC\.md/;
  const own = relative(ROOT, import.meta.filename);
  expect(CODE.filter((file) => file !== own && elsewhere.test(read(file)))).toEqual([]);
});

test('the version of the event store is named in docker-compose.yml only', () => {
  const named = [...CODE, ...PAGES, 'docker-compose.yml', 'Dockerfile']
    .filter((path) => !path.startsWith('docs/benchmarks'))
    .filter((path) => /(?:eventstore|kurrentdb):\d/.test(read(path)));
  expect(named).toEqual(['docker-compose.yml']);
});

test('the guide to the REST API states the limits of the code', () => {
  const guide = read('docs/guides/rest-api.md');
  expect(guide).toContain(`| message | ${MESSAGE.max} characters |`);
  expect(guide).toContain(`| Idempotency-Key | ${IDEMPOTENCY_KEY.max} characters |`);
  expect(guide).toContain(`integers, ${HOUR.min}–${HOUR.max} |`);
  expect([MAX_YEARS_AHEAD, guide]).toEqual([
    5,
    expect.stringContaining('| booking date | today to five years ahead |'),
  ]);
});
