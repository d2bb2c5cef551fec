import type { Figure, Unmeasured } from './figure.ts';
import { limitOf } from './limits.ts';
import { plotRatios, plotShares } from './plot.ts';
import { COLUMNS, cellsOf } from './table.ts';

/** One run of the benchmarks. */
export type Run = {
  /** YYYY-MM-DD. */
  readonly date: string;
  readonly command: string;
  /** What it ran on, and in which versions, by name. */
  readonly machine: Readonly<Record<string, string>>;
  readonly figures: readonly (Figure | Unmeasured)[];
};

/** The report on a run: `docs/benchmarks.md`, its plots by path, and what README quotes of it. */
export function reportOf({ date, command, machine, figures }: Run) {
  const measured = figures.flatMap((figure) => ('notMeasured' in figure ? [] : [figure]));
  const unmeasured = figures.flatMap((figure) => ('notMeasured' in figure ? [figure] : []));
  const quote = tableOf(measured.filter(({ aim }) => aim !== undefined));
  const page = `# Benchmarks

Written by \`${command}\` on ${date}. Do not edit: run it again.

${Object.entries(machine)
  .map(([name, value]) => `- ${name}: ${value}`)
  .join('\n')}

Each figure and its baseline were measured in turns in the same run; shown are the medians and, in brackets, the least and the
greatest of the rounds. Where there is a ratio, the aim is for the ratio. Everything ran in the default configuration.

## Figures with an aim

![Ratios to the baseline](benchmarks/ratios.svg)

![Figures as a share of their aim](benchmarks/shares.svg)

${quote}

## Other figures

${tableOf(measured.filter(({ aim }) => aim === undefined))}

## Not measured

${unmeasured.length === 0 ? 'Nothing was left out.' : unmeasured.map(({ name, notMeasured }) => `- ${name}: ${notMeasured}`).join('\n')}
`;
  return {
    page,
    quote,
    plots: { 'benchmarks/ratios.svg': plotRatios(measured), 'benchmarks/shares.svg': plotShares(measured) },
  };
}

function tableOf(figures: readonly Figure[]): string {
  if (figures.length === 0) return 'None.';
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const columns = [...COLUMNS, 'What limits it now'];
  const rows = figures.map((figure) => line([...cellsOf(figure), limitOf(figure.name)]));
  return [line(columns), line(columns.map(() => '---')), ...rows].join('\n');
}

const BEGIN = '<!-- benchmarks: written by npm run bench -- --report -->';
const END = '<!-- /benchmarks -->';

/** README with the quote in its place. @throws if README has no place for it */
export function quotedIn(readme: string, { date, machine }: Pick<Run, 'date' | 'machine'>, quote: string): string {
  const from = readme.indexOf(BEGIN);
  const to = readme.indexOf(END);
  if (from < 0 || to < from) throw new Error(`README lacks ${BEGIN} … ${END}`);
  const on = `Measured on ${date}: ${Object.entries(machine)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')}.`;
  return `${readme.slice(0, from)}${BEGIN}\n${on}\n\n${quote}\n${readme.slice(to)}`;
}
