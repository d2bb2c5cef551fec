import { violationsIn } from './check.ts';
import { bookingOf, type Operation, type spaceDays } from './space-day.ts';

type Rules = ReturnType<typeof spaceDays>;

/** The shortest part of a history that still cannot have happened. Each step only leaves out something that was seen. */
export function shortest(rules: Rules, history: readonly Operation[]): readonly Operation[] {
  const isIllegal = (operations: readonly Operation[]) => violationsIn(rules, operations).length > 0;
  const ends = history.map(({ answeredAt }) => answeredAt).filter(Number.isFinite);
  const cuts = ends.toSorted((a, b) => a - b).map((end) => until(history, end));
  let left = cuts.find(isIllegal) ?? history;
  for (const each of left) {
    const without = left.flatMap((one) => (one === each ? unanswered(each) : [one]));
    if (isIllegal(without)) left = without;
  }
  return withoutStrangers(left).toSorted((a, b) => a.calledAt - b.calledAt);
}

/** What had been seen at a moment. */
const until = (history: readonly Operation[], end: number): readonly Operation[] =>
  history
    .filter(({ calledAt }) => calledAt <= end)
    .flatMap((each) => (each.answeredAt <= end ? [each] : unanswered(each)));

/** Without its answer, a command may still have taken effect. */
function unanswered(operation: Operation): readonly Operation[] {
  if (operation.do === 'availability' || operation.do === 'read' || operation.answer === 'refused') return [];
  const by = operation.answer === undefined ? operation.by : `${operation.by}, which answered: ${operation.answer}`;
  return [{ ...operation, by, answer: undefined, answeredAt: Number.POSITIVE_INFINITY }];
}

/** Leaves out the bookings of which no answer is left, unless they may have taken hours that were not free. */
function withoutStrangers(operations: readonly Operation[]): readonly Operation[] {
  const answered = operations.filter(({ answer }) => answer !== undefined);
  const isAboutHours = answered.some((each) => each.do === 'availability' || each.answer === 'refused');
  const named = new Set(answered.map(bookingOf));
  return isAboutHours ? operations : operations.filter((each) => named.has(bookingOf(each)));
}

/** A history as a test that can be pasted into space-day.test.ts. Times are milliseconds since its first call. */
export function asTest(operations: readonly Operation[], terms: object): string {
  const start = Math.min(...operations.map(({ calledAt }) => calledAt));
  const since = (moment: number) => (Number.isFinite(moment) ? Number((moment - start).toFixed(3)) : 'NEVER');
  const lines = operations.map(({ calledAt, answeredAt, spaceDay: _, by, ...seen }) => {
    const shown = JSON.stringify({ ...seen, answer: seen.answer ?? null }).replace('null', 'undefined');
    return `    at(${since(calledAt)}, ${since(answeredAt)}, ${shown}), // ${by}`;
  });
  const rules = `spaceDays(() => (${JSON.stringify(terms)}))`;
  return `test('…', () => {\n  const seen = [\n${lines.join('\n')}\n  ];\n  expect(violationsIn(${rules}, seen)).toEqual([]);\n});`;
}
