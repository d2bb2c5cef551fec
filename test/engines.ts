import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';

/** Contract suites say here which engines they ran against, or why not: no run passes over one in silence. */
export function reportEngine(
  port: 'event store' | 'document store' | 'browser',
  engine: string,
  outcome: string,
): void {
  const file = process.env.ENGINE_REPORT;
  if (file !== undefined) appendFileSync(file, `${port}, ${engine}: ${outcome}\n`);
}

/** The lines of this run, and forgets them. */
export function enginesSeen(): string[] {
  const file = process.env.ENGINE_REPORT;
  if (file === undefined || !existsSync(file)) return ['no contract suite ran'];
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  rmSync(file);
  return [...new Set(lines)].sort();
}
