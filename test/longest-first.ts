import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take several seconds each, the longest first: begun last, one of them would keep a single core busy at the end. */
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
  const place = LONGEST.findIndex((file) => moduleId.endsWith(`/test/${file}`));
  return place === -1 ? LONGEST.length : place;
};

/** Vitest's own order, which on a clean clone knows nothing of how long files take, behind the longest. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}
