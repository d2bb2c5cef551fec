import type { Result } from './tool.ts';

/** A test file, and what its tests looked for. */
export type Looked = { readonly file: string; readonly tools: Readonly<Record<string, Result>> };

/** The end of a run: the tools it used, and those that were missing, why, and which command or setting would try their tests. */
export function toolLines(looked: readonly Looked[]): readonly string[] {
  const results = looked.flatMap(({ file, tools }) =>
    Object.entries(tools).map(([name, result]) => ({ file, name, result })),
  );
  const tried = results.flatMap(({ name, result }) => ('found' in result ? [`  ${name}: ${result.found}`] : []));
  const missing = results.flatMap(({ file, name, result }) =>
    'missing' in result ? [{ file, name, why: `${result.missing}. To try it: ${result.install}` }] : [],
  );
  const notTried = [...Map.groupBy(missing, ({ why }) => why)].map(([why, each]) => {
    const names = distinct(each.map(({ name }) => name));
    const files = distinct(each.map(({ file }) => file));
    return `  ${names.join('; ')} (${files.length === 1 ? files[0] : `${files.length} files`})\n    ${why}`;
  });
  return [...section('Tried with', tried), ...section('Not tried', notTried)];
}

/** What each project tests, and the command that runs it. */
const PROJECTS = {
  unit: 'pure functions: npm run test:unit',
  integration: 'the embedded engines, API, console and command line: npm test',
  system: 'processes, browsers, clients in other languages, takeovers, installation: npm run test:system',
  servers: 'what npm test tries on the embedded engines, on EventStoreDB and MongoDB: npm run test:system',
  'clock-new-year': 'API, console and mail at other moments: npm run test:system',
  check: 'imports between folders, patterns, deployments: npm run check',
} as const;

/** The suites that a run with these projects did not try, each with its command. */
export const leftOutLines = (projects: readonly string[]): readonly string[] =>
  section(
    'Not in this run',
    Object.entries(PROJECTS).flatMap(([name, what]) => (projects.includes(name) ? [] : [`  ${what}`])),
  );

const section = (heading: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ['', heading, ...distinct(lines)];

const distinct = (texts: readonly string[]): readonly string[] =>
  [...new Set(texts)].toSorted((one, other) => one.localeCompare(other));
