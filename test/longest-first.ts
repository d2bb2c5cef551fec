import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take long, started first: started last, one of them would occupy a single core at the end. Those that compute alternate
 * with those that mostly wait, so that no more than a few compete for the processor.
 */
export const LONGEST = [
  'service/export-import.test.ts',
  'stand-still.test.ts',
  'service/clock.test.ts',
  'console/every-browser.test.ts',
  'console/every-page.test.ts',
  'console/reach.browser.test.ts',
  'service/move-store.test.ts',
  'service/slow-first-start.test.ts',
  'service/lagging-fan-out.test.ts',
  'dropped-connection.test.ts',
  'projector/projector.test.ts',
  'ci/running-service.test.ts',
  'document-store/reads-under-faults.test.ts',
  'webhooks/stored-first.test.ts',
  'console/browser.test.ts',
  'service/fault-points.test.ts',
  'service/locked-file.test.ts',
  'service/backup.test.ts',
  'webhooks/circuit-breaker.test.ts',
  'event-store/eventstoredb/faulty-reads.test.ts',
  'console/requests-in-chromium.test.ts',
  'release/rollout.test.ts',
  'document-store/document-store.test.ts',
  'authorization-server/flow.test.ts',
  'console/calendar.browser.test.ts',
  'document-store/mongodb/document-store.test.ts',
  'console/find.browser.test.ts',
  'event-store/eventstoredb/cluster.test.ts',
  'service/backup-on-servers.test.ts',
  'console/deliveries-browser.test.ts',
  'event-store/eventstoredb/event-store.test.ts',
  'service/damaged-files.test.ts',
  'service/store-identity.test.ts',
  'soak/chaos.test.ts',
  'authorization-server/browser.test.ts',
  'console/tables.test.ts',
  'store-identity/store-identity.test.ts',
  'service/sealing.test.ts',
  'service/revoke.test.ts',
  'service/wrong-configuration.test.ts',
  'service/shared-cluster.test.ts',
  'description/page.test.ts',
  'cli/venue.test.ts',
  'cli/audit.test.ts',
  'fair-share/lists.test.ts',
  'webhooks/fan-out.test.ts',
  'service/first-start.test.ts',
  'console/booking-search.test.ts',
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
