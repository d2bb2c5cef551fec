import { readFileSync } from 'node:fs';
import { createRequire, isBuiltin, registerHooks } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { SerialQueue } from './serial-queue.ts';

/** The event loop turns once modules have taken so long, in milliseconds. */
const TURN_MS = 2;

/** What a module loads at once: imports, and calls of `require` in the first column. */
const IMPORTS = /^(?:import|export)\b(?! type\b)(?:[^'"`;]*?\bfrom)?\s*['"]([^'"]+)['"]/gm;
const REQUIRED = /^[^\s/*].*?\brequire\(['"]([^'"]+)['"]\)/gm;

// biome-ignore lint/plugin: only what the callers of importInSteps name, and what that imports itself.
const importAny = (module: string): Promise<unknown> => import(module);

type Step = () => Promise<unknown>;

/** The modules visited, with the lowest depth of their circle, and those that are not loaded yet. */
const lowest = new Map<string, number>();
const open: string[] = [];
// Two at the same time would visit the same modules.
const queue = new SerialQueue();

/**
 * Imports a module after everything that it imports, one module at a time, and lets the event loop turn in between. Node alone would load
 * all of it in one turn, which takes 50 to 200 ms for some packages.
 * @param load only imports a module: `() => import('./module.ts')`. It is called twice
 * @throws what `load` throws
 */
export async function importInSteps<Module>(load: () => Promise<Module>): Promise<Module> {
  await queue.run('', async () => {
    let turnBegan = performance.now();
    for (const step of stepsOf(urlOf(load), load)) {
      // What cannot be loaded fails once more, in the import at the end.
      await step().catch(() => {});
      if (performance.now() - turnBegan < TURN_MS) continue;
      await nextTurn();
      turnBegan = performance.now();
    }
  });
  return load();
}

/**
 * One step per module of the graph, each after those that it imports. Modules that import each other in a circle are loaded by the first
 * of them, as without steps: another order could fail.
 * @returns the lowest depth of a module in whose circle this one is; `Infinity` once it is loaded
 */
function* stepsOf(url: string | undefined, load: Step, depth = 0): Generator<Step, number> {
  if (url === undefined || !/^file:.*\.[cm]?[jt]s$/.test(url)) return Number.POSITIVE_INFINITY;
  const known = lowest.get(url);
  if (known !== undefined) return known;
  let low = depth;
  lowest.set(url, low);
  const first = open.push(url) - 1;
  const text = readFileSync(new URL(url), 'utf8');
  for (const name of namesIn(text, IMPORTS)) {
    const imported = urlOf(() => importAny(name), url);
    low = Math.min(low, yield* stepsOf(imported, () => importAny(imported ?? name), depth + 1));
  }
  const require = createRequire(url);
  for (const name of namesIn(text, REQUIRED))
    low = Math.min(low, yield* stepsOf(urlOfRequired(require, name), async () => require(name), depth + 1));
  lowest.set(url, low);
  if (low < depth) return low;
  yield load;
  for (const each of open.splice(first)) lowest.set(each, Number.POSITIVE_INFINITY);
  return Number.POSITIVE_INFINITY;
}

const namesIn = (text: string, pattern: RegExp): string[] =>
  Array.from(text.matchAll(pattern), ([, name = '']) => name).filter((name) => !isBuiltin(name));

/** The URL of the module that `load` imports, which is not loaded; undefined if there is none. @param parentURL the importing module */
function urlOf(load: () => Promise<unknown>, parentURL?: string): string | undefined {
  let url: string | undefined;
  const hooks = registerHooks({
    resolve(name, context, next) {
      url = next(name, parentURL === undefined ? context : { ...context, parentURL }).url;
      throw new Error('Only its URL is wanted');
    },
  });
  load().catch(() => {});
  hooks.deregister();
  return url;
}

function urlOfRequired(require: NodeJS.Require, name: string): string | undefined {
  try {
    return pathToFileURL(require.resolve(name)).href;
  } catch {
    return undefined;
  }
}
