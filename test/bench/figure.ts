/** A number that is measured, and how far it may go. */
export type Figure = {
  readonly name: string;
  readonly unit: '/s' | 'ms' | 'µs' | 's' | 'MiB' | '%' | '×' | 'kB' | 'events/s' | '';
  /** For the ratio of this checkout to the other one, on the fast disk. */
  readonly ratioFloor?: Floor;
  /** For the value itself. */
  readonly floor?: Floor;
};

export type Floor = { readonly atLeast: number } | { readonly atMost: number };
/** The least and the greatest of the rounds. */
type Range = readonly [min: number, max: number];
export type Summary = { readonly median: number; readonly range: Range };

/** What was measured of a figure in each round: in this checkout and, at the same index, in the one it is compared with. */
export type Rounds = { readonly own: readonly number[]; readonly other: readonly number[] };

export type Result = {
  readonly figure: Figure;
  readonly own: Summary;
  readonly other?: Summary;
  /** `own / other`, round by round. */
  readonly ratio?: Summary;
  readonly floor?: Floor;
  /** `noise`: the median misses the floor, some round reaches it. */
  readonly met?: 'yes' | 'noise' | 'no';
};

/** Of an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [below, above] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
  return below === undefined || above === undefined ? Number.NaN : (below + above) / 2;
}

const summaryOf = (values: readonly number[]): Summary => ({
  median: median(values),
  range: [Math.min(...values), Math.max(...values)],
});

/** @param hasFloor whether the floor of the figure applies to these rounds */
export function resultOf(figure: Figure, { own, other }: Rounds, hasFloor = true): Result {
  const ratio = other.length === 0 ? undefined : summaryOf(own.map((value, i) => value / (other[i] ?? Number.NaN)));
  const measured = { figure, own: summaryOf(own), ...(ratio && { other: summaryOf(other), ratio }) };
  const [floor, against] = figure.floor ? [figure.floor, measured.own] : [figure.ratioFloor, ratio];
  if (!hasFloor || floor === undefined || against === undefined) return measured;
  return { ...measured, floor, met: judge(against, floor) };
}

function judge({ median: middle, range }: Summary, floor: Floor): 'yes' | 'noise' | 'no' {
  const reaches = (value: number) => ('atLeast' in floor ? value >= floor.atLeast : value <= floor.atMost);
  return reaches(middle) ? 'yes' : range.some(reaches) ? 'noise' : 'no';
}
