import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take more than 25 seconds each, longest first. Started last, one of them would occupy a single core at the end. */
const LONGEST = [
  'service/export-import.test.ts',
  'console/every-page.test.ts',
  'dropped-connection.test.ts',
  'console/browser.test.ts',
  'service/sealing.test.ts',
  'projector/projector.test.ts',
  'document-store/reads-under-faults.test.ts',
  'service/backup.test.ts',
  'service/move-store.test.ts',
  'release/rollout.test.ts',
  'service/slow-first-start.test.ts',
  'service/clock.test.ts',
  'service/backup-on-servers.test.ts',
  'stand-still.test.ts',
  'webhooks/unstored.test.ts',
  'service/locked-file.test.ts',
  'authorization-server/browser.test.ts',
  'event-store/eventstoredb/faulty-reads.test.ts',
  'document-store/document-store.test.ts',
  'threads/log-thread.test.ts',
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
