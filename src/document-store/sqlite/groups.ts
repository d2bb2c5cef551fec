import type { Row } from './selects.ts';

/** Counts documents and adds up their fields in groups. Gives the rows that SQL would (`selectGroups`). */
export function createGroups(by: readonly string[], sums: readonly string[]) {
  const groups = new Map<string, { count: number; readonly totals: number[] }>();
  return {
    add(document: object): void {
      const values = JSON.stringify(Object.fromEntries(by.map((field) => [field, Reflect.get(document, field)])));
      const group = groups.get(values) ?? { count: 0, totals: sums.map(() => 0) };
      group.count += 1;
      for (const [index, field] of sums.entries())
        group.totals[index] = (group.totals[index] ?? 0) + Number(Reflect.get(document, field) ?? 0);
      groups.set(values, group);
    },
    rows: (): Row[] => Array.from(groups, ([values, { count, totals }]) => [values, count, JSON.stringify(totals)]),
  };
}
