import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { toolLines } from './tools-report.ts';

/** What each project tests, for the line that names those that a run left out. */
const PROJECTS = {
  unit: 'pure functions (npm run test:unit)',
  integration: 'engines, API, console and command line (npm test)',
  system: 'processes, browsers, generated clients and installation (npm run test:system)',
} as const;

/** Ends a run with what it ran against, what it did not try and why, the projects that it left out, and the totals. */
export default class ToolReporter implements Reporter {
  #projects: readonly string[] = [];

  onInit({ projects }: Vitest): void {
    this.#projects = projects.map(({ name }) => name);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const totals = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) totals[test.result().state] += 1;
      if (module.errors().length > 0) totals.failed += 1;
    }
    const leftOut = Object.entries(PROJECTS).flatMap(([name, what]) => (this.#projects.includes(name) ? [] : [what]));
    const looked = modules.map((module) => ({ file: module.relativeModuleId, tools: module.meta().tools ?? {} }));
    for (const line of toolLines(looked)) console.log(line);
    if (leftOut.length > 0) console.log(`\nNot in this run: ${leftOut.join('; ')}`);
    const skipped = totals.skipped + totals.pending;
    console.log(`\n${totals.passed} passed, ${totals.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  }
}
