/** The least and the greatest of the rounds. */
export type Range = readonly [min: number, max: number];
export type Ranges = { readonly value?: Range; readonly ceiling?: Range; readonly ratio?: Range };

/** A measured number, with its baseline. */
export type Figure = {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The theoretical maximum, or the same operation without the service, measured in the same run. */
  readonly ceiling?: { readonly what: string; readonly value: number };
  /** `value / ceiling`, from interleaved rounds. */
  readonly ratio?: number;
  /** Over the rounds, of which the numbers above are the medians. */
  readonly ranges?: Ranges;
  /** The target: for the ratio if there is one, otherwise for the value. */
  readonly aim?: { readonly atLeast: number } | { readonly below: number };
};

/** What could not be measured here, and why. */
export type Unmeasured = { readonly name: string; readonly notMeasured: string };

export type Bench = () => Promise<readonly (Figure | Unmeasured)[]>;

export const median = (values: readonly number[]): number => percentile(values, 50);

/** @param p 0 to 100 */
export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((p / 100) * sorted.length))] ?? Number.NaN;
}

/** Whether a figure reaches its aim. */
export function meets({ value, ratio = value }: Figure, aim: NonNullable<Figure['aim']>): boolean {
  return 'atLeast' in aim ? ratio >= aim.atLeast : ratio < aim.below;
}

export const rangeOf = (values: readonly number[]): Range => [Math.min(...values), Math.max(...values)];

/** Measures two things alternately, so that both see the same machine: their medians, and the median of the ratios per round. */
export async function interleaved(
  rounds: number,
  measure: { readonly value: () => Promise<number>; readonly ceiling: () => Promise<number> },
): Promise<{
  readonly value: number;
  readonly ceiling: number;
  readonly ratio: number;
  readonly ranges: Required<Ranges>;
}> {
  const values: number[] = [];
  const ceilings: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    ceilings.push(await measure.ceiling());
    values.push(await measure.value());
  }
  const ratios = values.map((value, round) => value / (ceilings[round] ?? Number.NaN));
  const ranges = { value: rangeOf(values), ceiling: rangeOf(ceilings), ratio: rangeOf(ratios) };
  return { value: median(values), ceiling: median(ceilings), ratio: median(ratios), ranges };
}
