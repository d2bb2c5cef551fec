import { TestRunner } from 'vitest';
import { find, type Result, type Tool } from './tool.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** What the tests of a file looked for, by name. The reporter reads it. */
    tools?: Record<string, Result>;
  }
}

/**
 * Whether this machine lacks a tool. A test that needs one is declared with `skipIf(lacks(TOOL))`: its file then passes on every machine,
 * and the run ends with the reason and what would try it. Called while a file declares its tests.
 */
export function lacks(tool: Tool): boolean {
  const { file } = TestRunner.getCurrentSuite();
  if (file === undefined) throw new Error(`No file declares its tests while it looks for ${tool.name}`);
  const result = find(tool);
  file.meta.tools = { ...file.meta.tools, [tool.name]: result };
  return 'missing' in result;
}
