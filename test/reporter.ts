import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { leftOutLines, toolLines } from './tools-report.ts';

/** Ends a run with what it ran against, what it did not try and why, the suites that it left out, what had to be tried again, and the totals. */
export default class ToolReporter implements Reporter {
  #projects: readonly string[] = [];

  onInit({ projects }: Vitest): void {
    this.#projects = projects.map(({ name }) => name);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const again: string[] = [];
    const totals = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        totals[test.result().state] += 1;
        if (test.diagnostic()?.flaky) again.push(`${module.relativeModuleId} > ${test.fullName}`);
      }
      if (module.errors().length > 0) totals.failed += 1;
    }
    const looked = modules.map((module) => ({ file: module.relativeModuleId, tools: module.meta().tools ?? {} }));
    for (const line of [...toolLines(looked), ...leftOutLines(this.#projects)]) console.log(line);
    if (again.length > 0) console.log(`\nPassed when tried again\n  ${again.join('\n  ')}`);
    const skipped = totals.skipped + totals.pending;
    console.log(`\n${totals.passed} passed, ${totals.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  }
}
