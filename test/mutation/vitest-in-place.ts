/**
 * What the quick tests use of Vitest, so that they can be run many times in one process: tests are collected as their files are loaded.
 */
type Run = () => unknown;

let collected: Run[] = [];
let before: Run[] = [];

/** The tests of the files that were loaded since the last call. */
export function takeTests(): readonly Run[] {
  const tests = collected;
  collected = [];
  before = [];
  return tests;
}

export function describe(_: string, define: Run): void {
  const outside = before;
  before = [...outside];
  define();
  before = outside;
}

export function test(_: string, ...args: readonly unknown[]): void {
  const run = args.find((each) => typeof each === 'function') as Run;
  const first = before;
  collected.push(async () => {
    for (const each of first) await each();
    await run();
  });
}

export const beforeEach = (run: Run): number => before.push(run);

const eachOf =
  (define: (name: string, run: Run) => void) =>
  (cases: readonly unknown[]) =>
  (name: string, ...args: readonly unknown[]): void => {
    const run = args.find((each) => typeof each === 'function') as (...values: readonly unknown[]) => unknown;
    for (const each of cases) define(name, () => run(...(Array.isArray(each) ? each : [each])));
  };

describe.each = eachOf(describe);
test.each = eachOf(test);
export const it = test;
export { expect, vi } from 'vitest';
