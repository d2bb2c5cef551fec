import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take several seconds each, longest first. Started last, one of them would occupy a single core at the end. */
const LONGEST = [
  'console/browser.test.ts',
  'event-store/eventstoredb/event-store.test.ts',
  'service/stop.test.ts',
  'service/first-start.test.ts',
  'projector/projector.test.ts',
  'event-store/sqlite/event-store.test.ts',
  'cli/authentication.test.ts',
  'mcp/conformance.test.ts',
];

const rank = ({ moduleId }: TestSpecification): number => {
  const index = LONGEST.findIndex((file) => moduleId.endsWith(`/test/${file}`));
  return index === -1 ? LONGEST.length : index;
};

/** The longest files first, then Vitest's own order, which knows no durations on a fresh clone. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}
