import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { LONGEST } from './suites.ts';

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
