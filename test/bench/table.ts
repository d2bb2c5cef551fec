import { type Figure, meets, type Range } from './figure.ts';

/** A number as people read it. */
export function number(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 1 ? 1 : 2;
  return value.toLocaleString('en', { maximumFractionDigits: digits });
}

const ratioText = (ratio: number): string => ratio.toFixed(2);
const between = (range: Range | undefined, text: (value: number) => string): string =>
  range === undefined ? '' : ` (${text(range[0])}–${text(range[1])})`;

export const COLUMNS = ['Figure', 'Measured', 'Baseline, in the same run', 'Ratio', 'Aim', 'Met'] as const;

/** A figure in words, one per column: the median and, in brackets, the least and greatest of the rounds. */
export function cellsOf(figure: Figure): readonly string[] {
  const { name, value, unit, ceiling, ratio, ranges, aim } = figure;
  return [
    name,
    `${number(value)}${between(ranges?.value, number)} ${unit}`,
    ceiling === undefined ? '' : `${number(ceiling.value)}${between(ranges?.ceiling, number)} ${unit}, ${ceiling.what}`,
    ratio === undefined ? '' : `${ratioText(ratio)}${between(ranges?.ratio, ratioText)}`,
    aim === undefined ? '' : 'atLeast' in aim ? `≥ ${number(aim.atLeast)}` : `< ${number(aim.below)}`,
    aim === undefined ? '' : meets(figure, aim) ? 'yes' : 'NO',
  ];
}
