import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { MACHINE_PATH, ROOT } from '../tool.ts';

const PAGE = new URL('../../docs/proof.md', import.meta.url);

/** What a search has tried, and what came of it. */
export type Proof = {
  /** Names the search, with the command that runs it. One row of the page. */
  readonly search: string;
  /** What must hold. */
  readonly promise: string;
  /** How many cases, with their unit: `5,000 steps`. */
  readonly tried: string;
  /** Repeats the run. Absent if the cases are all there are. */
  readonly seed?: number | string;
  /** Default: nothing. */
  readonly found?: string;
};

/** Writes the figure of a search to docs/proof.md, in place of its last one, if PROOF is `write`. Call it after the search has passed. */
export function recordProof({ search, promise, tried, seed = 'all cases', found = 'nothing' }: Proof): void {
  if (process.env.PROOF !== 'write') return;
  const row = [search, promise, tried, seed, commit(), new Date().toISOString().slice(0, 10), machine(), found];
  const lines = readFileSync(PAGE, 'utf8').trimEnd().split('\n');
  const others = lines.filter((line) => !line.startsWith(`| ${search} |`));
  writeFileSync(PAGE, `${[...others, `| ${row.join(' | ')} |`].join('\n')}\n`);
}

const commit = (): string => {
  const where = { cwd: ROOT, env: { PATH: MACHINE_PATH }, encoding: 'utf8' } as const;
  const git = (...args: readonly string[]) => execFileSync('git', args, where).trim();
  const isChanged = git('status', '--porcelain', '--', 'src', 'projections') !== '';
  return git('rev-parse', '--short=8', 'HEAD') + (isChanged ? ' with changes' : '');
};

const machine = (): string => `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`;
