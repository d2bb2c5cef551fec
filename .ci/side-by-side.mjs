// Runs the npm scripts that it is given, as many at a time as there are processors, and fails if one fails. The output of each is printed
// when it has ended. With --changed [commit], leaves out the checks that what has changed since then does not concern.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { argumentsFor, changedSince } from './changed.mjs';

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
const { values, positionals } = parseArgs({ options: { changed: { type: 'boolean' } }, allowPositionals: true });
const names = positionals.filter((name) => name in scripts);
const [commit = 'HEAD'] = positionals.filter((name) => !names.includes(name));

/** The checks to run, with what each is asked about; an empty list stands for everything. */
function chosen() {
  if (!values.changed) return names.map((name) => ({ name, args: [] }));
  const files = changedSince(commit);
  return names.map((name) => ({ name, args: argumentsFor(name, files) })).filter(({ args }) => args !== undefined);
}

function run({ name, args }) {
  const command = [scripts[name], ...args.map((arg) => `'${arg}'`)].join(' ');
  const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk));
  return new Promise((resolve) => {
    child.on('close', (code) => {
      process.stderr.write(Buffer.concat(output));
      if (code !== 0) {
        console.error(`npm run ${name} failed`);
        process.exitCode = 1;
      }
      resolve();
    });
  });
}

const waiting = chosen();
const leftOut = names.filter((name) => waiting.every((check) => check.name !== name));
async function runAll() {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await run(next);
}
await Promise.all(Array.from({ length: availableParallelism() }, runAll));
if (leftOut.length > 0) console.error(`Not checked: ${leftOut.join(', ')}. All of them: npm run check`);
