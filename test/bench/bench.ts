import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, tmpdir, totalmem, type } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ToolMissing } from '../tool.ts';
import { type Checkout, openCheckout, slowDiskIn } from './checkout.ts';
import { resultOf } from './figure.ts';
import { type Disk, FULL, type Measurement, measurements, QUICK } from './measurements.ts';
import { openPostgres } from './postgres.ts';
import { openReceiver } from './receiver.ts';
import { type Measured, pageOf, textTable } from './report.ts';

const NAMES = Object.keys(measurements);
const USAGE = `npm run bench -- [--against DIR|postgres] [--only NAME[,…]] [--rounds N] [--quick] [--json] [--report] [--servers]

Measures the service of this checkout and, in turns with it, that of another one whose packages are installed, or a plain one on
PostgreSQL (--against postgres, with POSTGRES_URL: a server of your own), which only books and shows availability.

  --only     some of ${NAMES.join(', ')}
  --rounds   how often the quick ones are measured (default: 5)
  --quick    with less load and shorter pauses, to see that it works
  --json     prints every round as JSON
  --report   writes docs/benchmarks.md
  --servers  on the EVENTSTORE_URL and MONGODB_URL of the environment: servers of your own, in which streams are left behind
`;

const { values: options } = parseArgs({
  options: {
    against: { type: 'string' },
    only: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean' },
    report: { type: 'boolean' },
    servers: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
const names = options.only?.split(',') ?? NAMES;
const rounds = Number(options.rounds);
const { EVENTSTORE_URL: eventStore, MONGODB_URL: mongo } = process.env;
const lacksServers = options.servers && (!eventStore || !mongo);
if (options.help || lacksServers || !(rounds >= 1) || names.some((name) => measurements[name] === undefined)) {
  console.error(USAGE);
  process.exit(options.help ? 0 : 2);
}

const ROOT = new URL('../..', import.meta.url).pathname;
const servers = options.servers && eventStore && mongo ? { eventStore, mongo } : undefined;
const [busy = 0] = loadavg();
const folder = mkdtempSync(join(tmpdir(), 'venue-bench-'));
const slow = slowDiskIn(folder);
const receiver = await openReceiver();
const own = await openCheckout(ROOT, servers);
const other = await openOther(options.against);
const results: Measured[] = [];
try {
  for (const name of names) {
    const measurement = measurements[name];
    // The disk of a PostgreSQL is as it is.
    for (const disk of (options.against !== 'postgres' && measurement?.disks) || (['fast'] as const))
      if (measurement !== undefined) results.push(...(await measure(name, measurement, disk)));
  }
} finally {
  await Promise.all([own.close(), other?.close(), receiver.close()]);
  rmSync(folder, { recursive: true, force: true });
}
report();

async function openOther(against: string | undefined): Promise<Checkout | undefined> {
  if (against !== 'postgres') return against === undefined ? undefined : openCheckout(resolve(against), servers);
  if (!process.env.POSTGRES_URL) throw new Error('--against postgres needs POSTGRES_URL');
  return openPostgres(process.env.POSTGRES_URL);
}

/** Measures in turns. One that fails does not take the others with it. */
async function measure(name: string, measurement: Measurement, disk: Disk): Promise<Measured[]> {
  const label = disk === 'slow' ? `${name} on a slow disk` : name;
  if (disk === 'slow' && slow === undefined) {
    console.error(`${label}: not measured. A C compiler: no cc, or no Linux. To try it: apt-get install gcc libc6-dev`);
    return [];
  }
  const values = { own: [] as Values[], other: [] as Values[] };
  const run = async (checkout: Checkout) => {
    const size = options.quick ? QUICK : FULL;
    return measurement.measure({ checkout, size, receiver, disk: disk === 'slow' ? { ...slow } : {} });
  };
  try {
    for (let round = 0; round < (measurement.isLong ? 1 : rounds); round += 1) {
      if (other !== undefined) values.other.push(await run(other));
      values.own.push(await run(own));
      if (!options.json) console.error(`${label} ${JSON.stringify([values.own.at(-1), values.other.at(-1)])}`);
    }
  } catch (error) {
    if (error instanceof ToolMissing) {
      console.error(`${label}: not measured. ${error.message}`);
      return [];
    }
    console.error(`${label} failed:`, error);
    process.exitCode = 1;
  }
  const of = (rounds: readonly Values[], key: string) => rounds.map((each) => each[key] ?? Number.NaN);
  if (values.own.length === 0) return [];
  return Object.entries(measurement.figures).map(([key, figure]) => ({
    ...resultOf(
      figure,
      { own: of(values.own, key), other: of(values.other, key) },
      disk === 'fast' || figure.floor !== undefined,
    ),
    disk,
  }));
}

type Values = Readonly<Record<string, number>>;

function report(): void {
  console.log(options.json ? JSON.stringify(results, null, 2) : `\n${textTable(results)}`);
  if (options.report) writePage();
}

function writePage(): void {
  const page = pageOf({
    date: new Date().toISOString().slice(0, 10),
    command: ['npm run bench --', ...process.argv.slice(2)].join(' '),
    machine: {
      Machine: `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
      System: `${type()} ${release()}`,
      Node: process.version,
      SQLite: process.versions.sqlite ?? 'unknown',
      // Others' work on the machine makes every figure worse, and ranges wider.
      'Load before the run': busy.toFixed(1),
    },
    results,
  });
  writeFileSync(join(ROOT, 'docs/benchmarks.md'), page);
  console.error('\nWritten: docs/benchmarks.md');
}
