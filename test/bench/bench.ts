import '../../src/runtime/startup.ts';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { availability } from './availability.ts';
import { bookings } from './bookings.ts';
import { deliveries } from './deliveries.ts';
import type { Bench, Figure, Unmeasured } from './figure.ts';
import { hanging } from './hanging.ts';
import { memory } from './memory.ts';
import { readYourWrites } from './read-your-writes.ts';
import { rebuild } from './rebuild.ts';
import { servers } from './servers.ts';
import { start } from './start.ts';

const BENCHES: Readonly<Record<string, Bench>> = {
  availability,
  bookings,
  'read-your-writes': readYourWrites,
  rebuild,
  webhooks: deliveries,
  hanging,
  start,
  memory,
  servers,
};

const USAGE = `npm run bench -- [--json] [--only ${Object.keys(BENCHES).join('|')}]`;

const { values: options } = parseArgs({
  options: { json: { type: 'boolean' }, only: { type: 'string' }, help: { type: 'boolean' } },
});
const names = options.only === undefined ? Object.keys(BENCHES) : [options.only];
if (options.help || names.some((name) => BENCHES[name] === undefined)) {
  console.error(USAGE);
  process.exit(options.help ? 0 : 2);
}

const figures: (Figure | Unmeasured)[] = [];
for (const name of names) {
  if (!options.json) console.error(`Measuring ${name} …`);
  figures.push(...((await BENCHES[name]?.()) ?? []));
}

if (options.json) {
  console.log(JSON.stringify({ node: process.version, cpus: cpus().length, cpu: cpus()[0]?.model, figures }, null, 2));
} else {
  const measured = figures.flatMap((figure) => ('notMeasured' in figure ? [] : [figure]));
  const rows = measured.map(({ name, value, unit, ceiling, ratio, aim }) => [
    name,
    `${number(value)} ${unit}`,
    ceiling === undefined ? '' : `${number(ceiling.value)} ${unit}, ${ceiling.what}`,
    ratio === undefined ? '' : ratio.toFixed(2),
    aim === undefined ? '' : 'atLeast' in aim ? `≥ ${number(aim.atLeast)}` : `< ${number(aim.below)}`,
    aim === undefined ? '' : met({ value, ratio, aim }) ? 'yes' : 'NO',
  ]);
  const table = [['Figure', 'Measured', 'Baseline, in the same run', 'Ratio', 'Target', 'Met'], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  console.log(`\nNode ${process.version}, ${cpus().length} × ${cpus()[0]?.model}\n`);
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

function number(value: number): string {
  const digits = value >= 100 ? 0 : value >= 1 ? 1 : 2;
  return value.toLocaleString('en', { maximumFractionDigits: digits });
}

function met({
  value,
  ratio = value,
  aim,
}: {
  value: number;
  ratio?: number | undefined;
  aim: NonNullable<Figure['aim']>;
}) {
  return 'atLeast' in aim ? ratio >= aim.atLeast : ratio < aim.below;
}
