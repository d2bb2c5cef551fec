import type { Reporter, TestModule } from 'vitest/node';
import { enginesSeen } from './engines.ts';

const UNIT_RUN =
  'none: only the pure tests ran. SQLite, MongoDB, EventStoreDB, Chromium and processes are tested by npm test';

/** Ends a run with one line per engine (tested, or why not) and one line of totals. */
export default class EngineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const totals = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) totals[test.result().state] += 1;
      if (module.errors().length > 0) totals.failed += 1;
    }
    console.log('\nEngines');
    const pure = modules.length > 0 && modules.every(({ project }) => project.name === 'unit');
    for (const line of pure ? [UNIT_RUN] : enginesSeen()) console.log(`  ${line}`);
    const skipped = totals.skipped + totals.pending;
    console.log(`\n${totals.passed} passed, ${totals.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  }
}
