// Runs the npm scripts that it is given, as many at a time as there are processors, and fails if one fails. The output of each is printed
// when it has ended.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
const waiting = process.argv.slice(2);

function run(name) {
  const child = spawn(scripts[name], { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
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

async function runAll() {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await run(next);
}
await Promise.all(Array.from({ length: availableParallelism() }, runAll));
