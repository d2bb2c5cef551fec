/**
 * Changes the rules in small ways, one at a time, and looks whether their own tests notice (CONTRIBUTING.md).
 * `npm run mutate -- [folder or file] [--seconds N] [--sample N]`
 */
import { type ChildProcess, fork, type StdioOptions } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { recordProof } from '../proof/proof.ts';
import { SUITES } from '../suites.ts';
import { type Mutant, mutantsOf } from './mutants.ts';
import type { Job, Result } from './run-mutants.ts';

const FOLDERS = ['src/domain', 'projections', 'src/outbox', 'src/leases/lease-state.ts', 'src/auth/access.ts'];
/** Mutants of a file that are tried in a row. */
const PART = 40;
/** Modules are never unloaded. */
const MUTANTS_PER_PROCESS = 150;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string' }, sample: { type: 'string' } },
});
const until = values.seconds === undefined ? Number.POSITIVE_INFINITY : Number(values.seconds) * 1_000;

/** What a search does not find soon, a test of its own should. */
const SHORT_SEARCHES = { ...process.env, PROOF: 'no', RULE_HISTORIES: '20', OUTBOX_RUNS: '3', EVENTUALLY_MS: '2000' };
const QUIET: StdioOptions = ['ignore', 'ignore', 'ignore', 'ipc'];

const ROOT = new URL('../../', import.meta.url);
const urlOf = (file: string) => new URL(file, ROOT).href;
const FILES = globSync(['{src,projections,test}/**/*.ts'], { cwd: ROOT.pathname });
const textOf = new Map(FILES.map((file) => [urlOf(file), readFileSync(new URL(file, ROOT), 'utf8')]));

/** Imports of values. What is imported for its types alone changes nothing. */
const IMPORT = /^(?:import|export)(?! type)[^;]*? from '(\.[^']+)'/gm;
const importers = new Map<string, string[]>();
for (const [url, text] of textOf)
  for (const [, specifier = ''] of text.matchAll(IMPORT))
    importers.getOrInsertComputed(new URL(specifier, url).href, () => []).push(url);

/** The files that import a file, directly or not, the nearest first. */
function affectedBy(url: string): readonly string[] {
  const affected = new Set([url]);
  for (const each of affected) for (const importer of importers.get(each) ?? []) affected.add(importer);
  return [...affected];
}

const UNIT = new Set(SUITES.unit.map(urlOf));
/** Those that need no more of Vitest than is in `vitest-in-place.ts`. */
const INTEGRATION = new Set(
  SUITES.integration.filter((file) => file !== 'test/outbox/nothing-lost.test.ts').map(urlOf),
);

/** The unit tests of a file. If it has none, those in the folder that mirrors its own. */
function testsOf(file: string, affected: readonly string[]): readonly string[] {
  const unit = affected.filter((each) => UNIT.has(each));
  const folder = urlOf(file.replace(/^src/, 'test').replace(/[^/]+$/, ''));
  return unit.length > 0 ? unit : affected.filter((each) => each.startsWith(folder) && INTEGRATION.has(each));
}

class Runner {
  #process: ChildProcess | undefined;
  #runs = 0;

  /** @returns undefined if it took longer than it may, or ended the process */
  async run(job: Job, timeoutMs: number): Promise<Result | undefined> {
    if (this.#runs++ % MUTANTS_PER_PROCESS === 0) this.stop();
    this.#process ??= fork(new URL('./run-mutants.ts', import.meta.url), { stdio: QUIET, env: SHORT_SEARCHES });
    const { promise, resolve } = Promise.withResolvers<Result | undefined>();
    const timer = setTimeout(resolve, timeoutMs, undefined);
    this.#process.once('message', resolve).once('exit', () => resolve(undefined));
    this.#process.send(job);
    const result = await promise;
    clearTimeout(timer);
    this.#process.removeAllListeners();
    return result ?? this.stop();
  }

  stop(): undefined {
    this.#process?.kill('SIGKILL');
    this.#process = undefined;
  }
}

type Tried = { readonly file: string; readonly mutant: Mutant; readonly isKilled: boolean };

async function tryFile(file: string, mutants: readonly Mutant[], runner: Runner): Promise<readonly Tried[]> {
  const url = urlOf(file);
  const affected = affectedBy(url);
  let tests = testsOf(file, affected);
  const startedAt = performance.now();
  const untouched = await runner.run({ url, affected, tests }, 60_000);
  if (untouched === undefined || untouched.killedBy !== undefined)
    throw new Error(`${file} fails without a change: ${untouched?.killedBy} ${untouched?.error}`);
  // The searches last.
  tests = tests.toSorted((a, b) => (untouched.took[a] ?? 0) - (untouched.took[b] ?? 0));
  const timeoutMs = Math.round(3_000 + 5 * (performance.now() - startedAt));
  const tried: Tried[] = [];
  for (const mutant of mutants) {
    if (performance.now() > until) break;
    const result = await runner.run({ url, mutant, affected, tests }, timeoutMs);
    const killedBy = result?.killedBy;
    tried.push({ file, mutant, isKilled: result === undefined || killedBy !== undefined });
    // What has noticed one notices the next.
    if (killedBy !== undefined) tests = [killedBy, ...tests.filter((each) => each !== killedBy)];
  }
  return tried;
}

/** So many of them, evenly spread. */
function sampled<T>(all: readonly T[], size: number): readonly T[] {
  return all.filter(
    (_, index) => Math.floor((index * size) / all.length) !== Math.floor(((index - 1) * size) / all.length),
  );
}

/** The mutants of a folder or file, in parts that are tried at the same time. */
function partsOf(folder: string): { readonly file: string; readonly mutants: readonly Mutant[] }[] {
  const isFile = statSync(new URL(folder, ROOT)).isFile();
  const files = isFile ? [folder] : FILES.filter((file) => file.startsWith(`${folder}/`));
  const all = files.flatMap((file) => mutantsOf(textOf.get(urlOf(file)) ?? '').map((mutant) => ({ file, mutant })));
  const chosen = Map.groupBy(sampled(all, Number(values.sample ?? all.length)), ({ file }) => file);
  return [...chosen].flatMap(([file, ofFile]) => {
    const mutants = ofFile.map(({ mutant }) => mutant);
    const starts = mutants.keys().filter((index) => index % PART === 0);
    return Array.from(starts, (from) => ({ file, mutants: mutants.slice(from, from + PART) }));
  });
}

async function tryFolder(folder: string): Promise<readonly Tried[]> {
  const queue = partsOf(folder);
  const tried: Tried[] = [];
  const work = async () => {
    const runner = new Runner();
    for (let part = queue.shift(); part !== undefined; part = queue.shift()) {
      const results = await tryFile(part.file, part.mutants, runner);
      print(results);
      tried.push(...results);
    }
    runner.stop();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return tried;
}

/** Prints those that no test has noticed. */
function print(tried: readonly Tried[]): void {
  for (const { file, mutant, isKilled } of tried) {
    if (isKilled) continue;
    const text = textOf.get(urlOf(file)) ?? '';
    const line = text.slice(0, mutant.start).split('\n').length;
    const [before, after, whole] = [mutant.before, mutant.after, text.split('\n')[line - 1]].map((each = '') =>
      each.trim(),
    );
    console.log(`${file}:${line}  ${before} → ${after}    ${whole}`);
  }
}

for (const folder of positionals.length > 0 ? positionals : FOLDERS) {
  const tried = await tryFolder(folder);
  const killed = tried.filter(({ isKilled }) => isKilled).length;
  const percent = ((100 * killed) / tried.length).toFixed(1);
  console.log(`${folder}: ${killed} of ${tried.length} mutants killed (${percent} %)\n`);
  recordProof({
    search: `Mutants of ${folder}: \`npm run mutate -- ${folder}\``,
    promise: 'Small changes of the rules are noticed by their own quick tests',
    tried: `${tried.length.toLocaleString('en')} mutants`,
    found: `${percent} % noticed`,
  });
}
