// What `npm run check -- --changed` has to look at: only what files that differ from the last commit, or from the one that is named, can break.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** The files that make a check necessary. Those of the rules for all of the source are the rules themselves. */
const READS = {
  'check:types': /\.ts$|^(tsconfig|package-lock)\.json$/,
  'check:format': /\.(css|grit|html|js|json|jsonc|mjs|ts)$/,
  'check:imports': /^(src|projections)\/.*\.[jt]s$|^\.dependency-cruiser\.mjs$/,
  'check:patterns': /^test\/patterns\//,
  'check:unused': /^(knip\.jsonc|package\.json)$/,
  'check:api': /^docs\/openapi.*\.json$|^(redocly|\.spectral)\.yaml$/,
  'check:changelog': /^(CHANGELOG\.md|package\.json)$/,
  'check:rules':
    /^deploy\/|^docker-compose\.yml$|^Dockerfile$|^test\/(architecture|deploy)\.|^test\/alerts\.|^test\/patterns\/|\.grit$/,
};
/** What concerns the format of every file. */
const FORMAT = /\.grit$|^biome\.json$/;

const git = (...args) => {
  const { status, stdout, stderr } = spawnSync('git', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`--changed asks git what has changed: ${stderr || 'it does not start'}`);
  return stdout.split('\n').filter((file) => file !== '');
};

/** The files that differ from a commit, and those that git does not know yet. */
export const changedSince = (commit) => [
  ...git('diff', '--name-only', '--relative', commit),
  ...git('ls-files', '--others', '--exclude-standard'),
];

/** The arguments of a check for these files; undefined if none of them concerns it. */
export function argumentsFor(check, files) {
  const read = files.filter((file) => READS[check]?.test(file) ?? true);
  if (read.length === 0) return undefined;
  if (check !== 'check:format' || files.some((file) => FORMAT.test(file))) return [];
  const present = read.filter((file) => existsSync(file));
  return present.length === 0 ? undefined : ['--no-errors-on-unmatched', ...present];
}
