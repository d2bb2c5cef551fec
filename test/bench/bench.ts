import '../../src/runtime/startup.ts';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { parseArgs } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };
import { availability } from './availability.ts';
import { bookings } from './bookings.ts';
import { deliveries } from './deliveries.ts';
import type { Bench, Figure, Unmeasured } from './figure.ts';
import { hanging } from './hanging.ts';
import { memory } from './memory.ts';
import { pages } from './pages.ts';
import { readYourWrites } from './read-your-writes.ts';
import { reads } from './reads.ts';
import { rebuild } from './rebuild.ts';
import { quotedIn, type Run, reportOf } from './report.ts';
import { servers } from './servers.ts';
import { slowDisk } from './slow-disk.ts';
import { start, startOnLongLog } from './start.ts';
import { COLUMNS, cellsOf } from './table.ts';

const BENCHES: Readonly<Record<string, Bench>> = {
  availability,
  reads,
  pages,
  'slow-disk': slowDisk,
  bookings,
  'read-your-writes': readYourWrites,
  rebuild,
  webhooks: deliveries,
  hanging,
  start,
  'start-on-long-log': startOnLongLog,
  memory,
  servers,
};

const USAGE = `npm run bench -- [--json | --report] [--only ${Object.keys(BENCHES).join('|')}[,…]]`;

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean' },
    report: { type: 'boolean' },
    only: { type: 'string' },
    help: { type: 'boolean' },
  },
});
const names = options.only === undefined ? Object.keys(BENCHES) : options.only.split(',');
if (options.help || names.some((name) => BENCHES[name] === undefined)) {
  console.error(USAGE);
  process.exit(options.help ? 0 : 2);
}

const [busy = 0] = loadavg();
const figures: (Figure | Unmeasured)[] = [];
for (const name of names) {
  if (!options.json) console.error(`Measuring ${name} …`);
  try {
    figures.push(...((await BENCHES[name]?.()) ?? []));
  } catch (error) {
    // One that fails does not take the others with it.
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n');
    console.error(error);
    figures.push({ name, notMeasured: `it failed: ${reason}` });
    process.exitCode = 1;
  }
}
for (const name of Object.keys(BENCHES))
  if (!names.includes(name)) figures.push({ name, notMeasured: 'left out of this run' });

const cpu = `${cpus().length} × ${cpus()[0]?.model.trim()}`;
if (options.json) {
  console.log(JSON.stringify({ node: process.version, cpus: cpus().length, cpu: cpus()[0]?.model, figures }, null, 2));
} else {
  print(figures);
  if (options.report) writeReport();
}

function print(figures: readonly (Figure | Unmeasured)[]): void {
  const rows = figures.flatMap((figure) => ('notMeasured' in figure ? [] : [cellsOf(figure)]));
  const table = [COLUMNS, ...rows];
  const widths = COLUMNS.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  console.log(`\nNode ${process.version}, ${cpu}\n`);
  for (const row of table)
    console.log(
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  for (const figure of figures)
    if ('notMeasured' in figure) console.log(`\n${figure.name}: not measured, because ${figure.notMeasured}`);
}

/** Writes docs/benchmarks.md with its plots, and quotes it in README. */
function writeReport(): void {
  const run: Run = {
    date: new Date().toISOString().slice(0, 10),
    command: ['npm run bench -- --report', ...(options.only === undefined ? [] : ['--only', options.only])].join(' '),
    machine: {
      Machine: `${cpu}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
      System: `${type()} ${release()}`,
      Node: process.version,
      SQLite: process.versions.sqlite ?? 'unknown',
      Service: manifest.version,
      // Others' work on the machine makes every figure worse, and ranges wider.
      'Load before the run': busy.toFixed(1),
    },
    figures,
  };
  const { page, quote, plots } = reportOf(run);
  const at = (path: string) => new URL(`../../${path}`, import.meta.url);
  mkdirSync(at('docs/benchmarks'), { recursive: true });
  writeFileSync(at('docs/benchmarks.md'), page);
  for (const [path, svg] of Object.entries(plots)) writeFileSync(at(`docs/${path}`), svg);
  writeFileSync(at('README.md'), quotedIn(readFileSync(at('README.md'), 'utf8'), run, quote));
  console.log('\nWritten: docs/benchmarks.md, its plots, and the quote in README.md');
}
