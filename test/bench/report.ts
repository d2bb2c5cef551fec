import type { Floor, Result, Summary } from './figure.ts';
import type { Disk } from './measurements.ts';

export type Measured = Result & { readonly disk: Disk };

/** One run of the benchmarks. */
export type Run = {
  /** YYYY-MM-DD. */
  readonly date: string;
  readonly command: string;
  /** What it ran on, and in which versions, by name. */
  readonly machine: Readonly<Record<string, string>>;
  readonly results: readonly Measured[];
};

/** A number as people read it. */
function number(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return value.toLocaleString('en', { maximumFractionDigits: digits });
}

const withRange = ({ median, range }: Summary, unit: string): string => {
  const [least, greatest] = range.map(number);
  return `${number(median)}${least === greatest ? '' : ` (${least}–${greatest})`}${unit === '' ? '' : ` ${unit}`}`;
};

const floorText = (floor: Floor): string =>
  'atLeast' in floor ? `≥ ${number(floor.atLeast)}` : `≤ ${number(floor.atMost)}`;

const MET = { yes: 'yes', noise: 'within the noise', no: 'NO' } as const;

const COLUMNS = ['Figure', 'This checkout', 'The other one', 'Ratio', 'Floor', 'Met'] as const;

/** A result in words, one per column: the median and, in brackets, the least and greatest of the rounds. */
export const cellsOf = ({ figure, own, other, ratio, floor, met, disk }: Measured): readonly string[] => [
  `${figure.name}${disk === 'slow' ? ', slow disk' : ''}`,
  withRange(own, figure.unit),
  other === undefined ? '' : withRange(other, figure.unit),
  ratio === undefined ? '' : withRange(ratio, '×'),
  floor === undefined ? '' : floorText(floor),
  met === undefined ? '' : MET[met],
];

/** For a terminal. */
export function textTable(results: readonly Measured[]): string {
  const table = [COLUMNS, ...results.map(cellsOf)];
  const widths = COLUMNS.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ');
  return table.map((row) => line(row).trimEnd()).join('\n');
}

/** `docs/benchmarks.md`. */
export function pageOf({ date, command, machine, results }: Run): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return `# Benchmarks

Written by \`${command}\` on ${date}. Do not edit: run it again.

${Object.entries(machine)
  .map(([name, value]) => `- ${name}: ${value}`)
  .join('\n')}

Each checkout is used from outside only (HTTP, command line, files and \`/proc\`), in turns, with a new process and a new store in each round,
in the default configuration. Shown are the medians and, in brackets, the least and the greatest of the rounds. On the slow disk
an fsync takes 20 ms longer. A floor is for the ratio if there is one, otherwise for the value.

${[line(COLUMNS), line(COLUMNS.map(() => '---')), ...results.map((result) => line(cellsOf(result)))].join('\n')}
`;
}
