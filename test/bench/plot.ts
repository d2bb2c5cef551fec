import { type Figure, meets, type Range } from './figure.ts';
import { number } from './table.ts';

const ROW = 30;
const LABEL = 510;
const BAR = 260;
const WIDTH = LABEL + BAR + 110;
const TOP = 34;

type Bar = {
  readonly label: string;
  readonly value: number;
  readonly range: Range | undefined;
  readonly text: string;
  readonly isMet: boolean | undefined;
  /** Where the aim is marked. */
  readonly aim: number | undefined;
};

/** Ratios to the baseline of the same run: a bar each, a line from the least to the greatest round, a mark at the aim. */
export function plotRatios(figures: readonly Figure[]): string {
  const bars = figures.flatMap((figure): Bar[] => {
    const { name, ratio, ranges, aim } = figure;
    if (ratio === undefined) return [];
    return [
      {
        ...{ label: name, value: ratio, range: ranges?.ratio, text: ratio.toFixed(2) },
        isMet: aim && meets(figure, aim),
        aim: aim && ('atLeast' in aim ? aim.atLeast : aim.below),
      },
    ];
  });
  return plot('Share of the baseline of the same run', bars);
}

/** Figures that have an aim of their own: a bar each, as a share of the aim, which is marked at 1. */
export function plotShares(figures: readonly Figure[]): string {
  const bars = figures.flatMap((figure): Bar[] => {
    const { name, value, unit, ratio, ranges, aim } = figure;
    if (ratio !== undefined || aim === undefined) return [];
    const whole = 'atLeast' in aim ? aim.atLeast : aim.below;
    const range = ranges?.value;
    return [
      {
        label: `${name} (${'atLeast' in aim ? '≥' : '<'} ${number(whole)} ${unit})`,
        value: value / whole,
        range: range && [range[0] / whole, range[1] / whole],
        text: `${number(value)} ${unit}`,
        isMet: meets(figure, aim),
        aim: 1,
      },
    ];
  });
  return plot('Share of the aim', bars);
}

/** Readable in light and dark pages: on a ground of its own. */
function plot(title: string, bars: readonly Bar[]): string {
  const most = Math.max(1, ...bars.map(({ value, aim = 0 }) => Math.max(value, aim)));
  // One figure that is off by far must not flatten the others.
  const scale = Math.min(most * 1.05, 2.5);
  const x = (value: number) => (LABEL + (Math.min(value, scale) / scale) * BAR).toFixed(1);
  const height = TOP + bars.length * ROW + 14;
  const rows = bars.map(({ label, value, range, text, isMet, aim }, i) => {
    const y = TOP + i * ROW;
    const colour = isMet === undefined ? '#8a94a6' : isMet ? '#2f8f5b' : '#c2571a';
    const width = (Number(x(value)) - LABEL).toFixed(1);
    const middle = y + 10;
    return [
      `<text x="${LABEL - 10}" y="${y + 14}" text-anchor="end">${escaped(label)}</text>`,
      `<rect x="${LABEL}" y="${y + 2}" width="${width}" height="16" rx="2" fill="${colour}"/>`,
      ...(range === undefined
        ? []
        : [`<path d="M${x(range[0])} ${middle}H${x(range[1])}" stroke="#1c2430" stroke-width="1.5"/>`]),
      ...(aim === undefined ? [] : [`<path d="M${x(aim)} ${y - 2}v24" stroke="#1c2430" stroke-dasharray="3 2"/>`]),
      `<text x="${LABEL + BAR + 12}" y="${y + 14}">${escaped(text)}</text>`,
    ].join('\n');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}" font-family="system-ui, sans-serif" font-size="12" fill="#1c2430">
<rect width="100%" height="100%" fill="#fff"/>
<text x="${LABEL}" y="18" font-weight="600">${escaped(title)}</text>
${rows.join('\n')}
</svg>
`;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
