import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';

/** Suites report which engines, browsers, generators of clients and disks they ran against, or why not, so that no run skips one silently. */
export function reportEngine(
  port: 'event store' | 'document store' | 'browser' | 'client' | 'deployment' | 'disk',
  engine: string,
  outcome: string,
): void {
  const file = process.env.ENGINE_REPORT;
  if (file !== undefined) appendFileSync(file, `${port}, ${engine}: ${outcome}\n`);
}

/** Returns the report lines of this run and deletes them. */
export function enginesSeen(): string[] {
  const file = process.env.ENGINE_REPORT;
  if (file === undefined || !existsSync(file)) return ['none'];
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  rmSync(file);
  return [...new Set(lines)].sort();
}
