import { type Timed, violationsIn } from './check.ts';
import type { Operation, spaceDays } from './space-day.ts';

type Rules = ReturnType<typeof spaceDays>;

/** The shortest part of a history that still cannot have happened: every step only leaves out what somebody saw. */
export function shortest(rules: Rules, history: readonly Operation[]): readonly Operation[] {
  const isIllegal = (operations: readonly Operation[]) => violationsIn(rules, operations).length > 0;
  const ends = history.map(({ answeredAt }) => answeredAt).filter(Number.isFinite);
  const cuts = ends.toSorted((a, b) => a - b).map((end) => until(history, end));
  let left = cuts.find(isIllegal) ?? history;
  for (const each of left.filter(changesNothing)) {
    const without = left.filter((one) => one !== each);
    if (isIllegal(without)) left = without;
  }
  return left.toSorted((a, b) => a.calledAt - b.calledAt);
}

/** What had been seen at a moment. Commands without an answer may have taken effect. */
const until = (history: readonly Operation[], end: number): readonly Operation[] =>
  history
    .filter(({ calledAt }) => calledAt <= end)
    .flatMap((each) => (each.answeredAt <= end ? [each] : unanswered(each)));

const unanswered = (operation: Operation): readonly Operation[] =>
  operation.do === 'availability' || operation.do === 'read'
    ? []
    : [{ ...operation, answer: undefined, answeredAt: Number.POSITIVE_INFINITY }];

const changesNothing = (operation: Operation & Timed): boolean =>
  operation.do === 'availability' || operation.do === 'read' || operation.answer === 'refused';

/** A history as a test that can be pasted into space-day.test.ts. Times are milliseconds since its first call. */
export function asTest(operations: readonly Operation[], terms: object): string {
  const start = Math.min(...operations.map(({ calledAt }) => calledAt));
  const since = (moment: number) => (Number.isFinite(moment) ? Number((moment - start).toFixed(3)) : 'NEVER');
  const lines = operations.map(({ calledAt, answeredAt, spaceDay: _, by, ...seen }) => {
    const shown = JSON.stringify(seen.answer === undefined ? { ...seen, answer: null } : seen);
    return `    at(${since(calledAt)}, ${since(answeredAt)}, ${shown.replace('"answer":null', '"answer":undefined')}), // ${by}`;
  });
  const rules = `spaceDays(() => (${JSON.stringify(terms)}))`;
  return `test('…', () => {\n  const seen = [\n${lines.join('\n')}\n  ];\n  expect(violationsIn(${rules}, seen)).toEqual([]);\n});`;
}
