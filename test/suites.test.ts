import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { LONGEST, ON_EACH_ENGINE, PATTERNS, SUITES } from './suites.ts';

const ROOT = new URL('..', import.meta.url);
const exclude = ['**/node_modules/**'];
const ALL = globSync('test/**/*.test.ts', { cwd: ROOT.pathname, exclude });

test('every test file belongs to exactly one suite', () => {
  const suitesOf = (file: string) =>
    Object.entries(SUITES).flatMap(([name, files]) => (files.includes(file) ? [name] : []));
  expect(ALL.map((file) => [file, suitesOf(file).length]).filter(([, count]) => count !== 1)).toEqual([]);
});

test('every pattern of a suite finds files', () => {
  expect(PATTERNS.filter((pattern) => globSync(pattern, { cwd: ROOT.pathname, exclude }).length === 0)).toEqual([]);
});

test('a command runs each suite, and .ci/run all of them', () => {
  const { scripts } = manifest;
  const projectsOf = (command: string) => [...command.matchAll(/--project '?([\w*-]+)/g)].map(([, name]) => name);
  expect(projectsOf(scripts.test)).toEqual(['unit', 'integration']);
  expect(projectsOf(scripts['test:system'])).toEqual(['system', 'servers', 'clock-*']);
  expect(projectsOf(scripts['check:rules'])).toEqual(['check']);
  expect(scripts.check).toContain('check:rules');
  const run = readFileSync(new URL('.ci/run', ROOT), 'utf8');
  expect(run).toMatch(/^npm run --silent check$/m);
  expect(run).toContain(`\nnpm test --silent -- ${scripts['test:system'].replace(/^.*?(?=--project)/, '')}\n`);
});

test('a file that is tested on each engine repeats nothing on servers that has no engine', () => {
  const ENGINES = /^(?:describe|test|it)\.each\((?:documentEngines|onlyEmbedded|enginePairs|logEngines)\)/;
  const blocksOf = (file: string) =>
    readFileSync(new URL(file, ROOT), 'utf8').match(/^(?:describe|test|it)\b.*$/gm) ?? [];
  const repeated = ON_EACH_ENGINE.flatMap((file) =>
    blocksOf(file).flatMap((block) => (ENGINES.test(block) ? [] : [`${file}: ${block}`])),
  );
  expect(repeated).toEqual([]);
});

test('no hook is passed on: Vitest ignores an afterAll within a beforeAll', () => {
  const passing = globSync('test/**/*.ts', { cwd: ROOT.pathname, exclude }).filter((file) =>
    /[(,] ?(?:afterAll|afterEach)\)/.test(readFileSync(new URL(file, ROOT), 'utf8')),
  );
  expect(passing).toEqual([]);
});

test('every file that is started first exists', () => {
  expect(LONGEST.filter((file) => !ALL.includes(`test/${file}`))).toEqual([]);
});
