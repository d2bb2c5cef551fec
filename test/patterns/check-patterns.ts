import { globSync, readFileSync } from 'node:fs';
import { slowPatterns } from './patterns.ts';

// Not the programs that come with the package for some machines, so that the result is the same on all of them.
process.env.RECHECK_BACKEND = 'pure';
const files = globSync('{src,projections}/**/*.{js,ts}');
const problems = await slowPatterns(files.map((file) => ({ file, text: readFileSync(file, 'utf8') })));
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
