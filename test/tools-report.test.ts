import { expect, test } from 'vitest';
import { leftOutLines, toolLines } from './tools-report.ts';

const chromium = { missing: 'not found', install: 'apt-get install chromium' };
const notInVenv = { missing: 'not in .venv', install: 'pip install' };

test('a run ends with what it used and, by reason, what it did not try and what would try it', () => {
  const lines = toolLines([
    { file: 'test/a.test.ts', tools: { Chromium: chromium, Go: { found: '/usr/bin/go' } } },
    { file: 'test/b.test.ts', tools: { Go: { found: '/usr/bin/go' }, Chromium: chromium, Schemathesis: notInVenv } },
    { file: 'test/c.test.ts', tools: {} },
    { file: 'test/b.test.ts', tools: { FastMCP: notInVenv } },
  ]);
  expect(lines.join('\n')).toBe(`
Tried with
  Go: /usr/bin/go

Not tried
  Chromium (2 files)
    not found. To try it: apt-get install chromium
  FastMCP; Schemathesis (test/b.test.ts)
    not in .venv. To try it: pip install`);
});

test('a run that needed no tool lists none', () => {
  expect(toolLines([{ file: 'test/c.test.ts', tools: {} }])).toEqual([]);
});

test('a run names the suites that it left out, and the command of each', () => {
  expect(leftOutLines(['unit', 'integration', 'check']).join('\n')).toBe(`
Not in this run
  API, console and mail at other moments: npm run test:system
  processes, browsers, clients in other languages, takeovers, installation: npm run test:system
  what npm test tries on the embedded engines, on EventStoreDB and MongoDB: npm run test:system`);
  expect(leftOutLines(['unit', 'integration', 'system', 'servers', 'clock-new-year', 'check'])).toEqual([]);
});
