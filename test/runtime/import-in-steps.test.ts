import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runNode } from '../service/node-process.ts';

/** Records that a module runs, and in which turn of the event loop. It takes longer than the modules of a turn may take. */
const RUNS = (name: string) =>
  `globalThis.runs.push(['${name}', globalThis.turn]); for (const began = performance.now(); performance.now() < began + 5; );`;

/** Imports `entry.mjs` in steps, among the given files, in a process of its own. @returns what that prints */
async function importEntry(files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'venue-steps-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const main = `
    import { importInSteps } from '${new URL('../../src/runtime/import-in-steps.ts', import.meta.url).href}';
    Object.assign(globalThis, { runs: [], turn: 0 });
    const count = () => { globalThis.turn += 1; setImmediate(count).unref(); };
    count();
    const load = () => importInSteps(() => import('./entry.mjs')).then(({ value }) => value, ({ message }) => message);
    const loaded = await Promise.all([load(), load()]);
    console.log(JSON.stringify({ loaded, runs: globalThis.runs }));`;
  for (const [name, text] of Object.entries({ ...files, 'main.mjs': main })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const { code, stdout, stderr } = await runNode(join(folder, 'main.mjs'), [], {});
  expect(code, stderr).toBe(0);
  const { loaded, runs }: { loaded: unknown[]; runs: [string, number][] } = JSON.parse(stdout);
  return { loaded, order: runs.map(([name]) => name), turns: runs.map(([, turn]) => turn) };
}

const PACKAGE = {
  'node_modules/both/package.json': JSON.stringify({ exports: { import: './module.mjs', require: './common.cjs' } }),
  'node_modules/both/module.mjs': `${RUNS('package')} export default 1;`,
  'node_modules/both/common.cjs': RUNS('the file of the package for require'),
};

test('loads each module of a graph in a turn of its own, after what it imports', async () => {
  const { loaded, order, turns } = await importEntry({
    ...PACKAGE,
    'entry.mjs': `import both from 'both';\nimport {\n  other\n} from './other.mjs';\n${RUNS('entry')} export const value = both + other;`,
    'other.mjs': `import './common.cjs';\nexport * from './leaf.mjs';\n${RUNS('other')}`,
    'leaf.mjs': `export const other = 1;\n${RUNS('leaf')}`,
    'common.cjs': `const required = require('./required.cjs');\n${RUNS('common')}`,
    'required.cjs': `function later() {\n  require('./unused.cjs');\n}\n${RUNS('required')}`,
    'unused.cjs': RUNS('unused'),
  });
  expect(loaded).toEqual([2, 2]);
  expect(order).toEqual(['package', 'required', 'common', 'leaf', 'other', 'entry']);
  expect(new Set(turns).size).toBe(6);
});

test('modules that import each other run in the order of the import', async () => {
  const { loaded, order } = await importEntry({
    'entry.mjs': `import { last } from './last.mjs';\nimport './beside.mjs';\n${RUNS('entry')} export const value = last;`,
    // Fails if it runs before its circle's other module, as would be if that one were loaded first.
    'last.mjs': `import { first } from './first.mjs';\n${RUNS('last')} export const last = first + 1;`,
    'first.mjs': `import './last.mjs';\nimport './beside.mjs';\n${RUNS('first')} export const first = 1;`,
    'beside.mjs': `import './first.mjs';\n${RUNS('beside')}`,
  });
  expect(loaded).toEqual([2, 2]);
  expect(order).toEqual(['beside', 'first', 'last', 'entry']);
});

test('a module that cannot be loaded fails the import, and what is only mentioned does not', async () => {
  const failing = await importEntry({
    'entry.mjs': `import './broken.mjs';\nexport const value = 1;`,
    'broken.mjs': `throw new Error('broken');`,
  });
  expect(failing.loaded).toEqual(['broken', 'broken']);
  const { loaded } = await importEntry({
    'entry.mjs': `/*\nimport './missing.mjs';\nconst text = require('missing');\n*/\nexport const value = 1;`,
  });
  expect(loaded).toEqual([1, 1]);
});
