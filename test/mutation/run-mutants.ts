/** A process that runs mutants, one after another, and tells the one that started it about each. */
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import fc from 'fast-check';
import type { Mutant } from './mutants.ts';
import { takeTests } from './vitest-in-place.ts';

/** A file with one of its mutants, or without any, and the tests that it is run against. */
export type Job = {
  readonly url: string;
  readonly mutant?: Mutant;
  /** The files that import it, itself included. They are loaded again for each mutant. */
  readonly affected: readonly string[];
  readonly tests: readonly string[];
};
export type Result = {
  /** The file of the first test that failed, and what it said. Absent if all passed. */
  readonly killedBy?: string;
  readonly error?: string;
  /** How long each file took, in milliseconds. */
  readonly took: Readonly<Record<string, number>>;
};

const VITEST = new URL('./vitest-in-place.ts', import.meta.url).href;
let affected = new Set<string>();
let mutated: { readonly url: string; readonly source: string } | undefined;
let count = 0;

const javascript = new Map<string, string>();
function stripped(url: string): string {
  const before = javascript.get(url);
  if (before !== undefined) return before;
  const source = stripTypeScriptTypes(readFileSync(new URL(url), 'utf8'));
  javascript.set(url, source);
  return source;
}

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'vitest' && context.parentURL !== VITEST) return { url: VITEST, shortCircuit: true };
    const resolved = next(specifier, context);
    return affected.has(resolved.url) ? { ...resolved, url: `${resolved.url}?mutant=${count}` } : resolved;
  },
  load(address, context, next) {
    const [url = '', mutant] = address.split('?mutant=');
    if (mutant === undefined) return next(address, context);
    return { format: 'module', shortCircuit: true, source: mutated?.url === url ? mutated.source : stripped(url) };
  },
});
// The smallest case of a mutant is of no interest, and a mutant is to fare the same each time.
fc.configureGlobal({ endOnFailure: true, seed: 1 });

async function run(job: Job): Promise<Result> {
  count += 1;
  affected = new Set(job.affected);
  const source = readFileSync(new URL(job.url), 'utf8');
  const { start, end, after } = job.mutant ?? { start: 0, end: 0, after: '' };
  mutated = { url: job.url, source: stripTypeScriptTypes(source.slice(0, start) + after + source.slice(end)) };
  const took: Record<string, number> = {};
  for (const file of job.tests) {
    const startedAt = performance.now();
    try {
      await import(file);
      for (const test of takeTests()) await test();
    } catch (error) {
      takeTests();
      return { killedBy: file, error: String(error), took };
    }
    took[file] = performance.now() - startedAt;
  }
  return { took };
}

process.on('message', async (job: Job) => process.send?.(await run(job)));
