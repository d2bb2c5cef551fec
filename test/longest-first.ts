import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take more than ten seconds, longest first. Started last, one of them would occupy a single core at the end. */
const LONGEST = [
  'service/export-import.test.ts',
  'ci/running-service.test.ts',
  'service/sealing.test.ts',
  'console/every-page.test.ts',
  'service/move-store.test.ts',
  'release/rollout.test.ts',
  'service/fault-points.test.ts',
  'projector/projector.test.ts',
  'document-store/reads-under-faults.test.ts',
  'dropped-connection.test.ts',
  'console/requests-in-chromium.test.ts',
  'stand-still.test.ts',
  'webhooks/stored-first.test.ts',
  'console/browser.test.ts',
  'service/damaged-files.test.ts',
  'service/backup.test.ts',
  'document-store/document-store.test.ts',
  'service/store-identity.test.ts',
  'service/clock.test.ts',
  'service/backup-on-servers.test.ts',
  'service/locked-file.test.ts',
  'service/slow-first-start.test.ts',
  'console/calendar.browser.test.ts',
  'authorization-server/browser.test.ts',
  'event-store/eventstoredb/faulty-reads.test.ts',
  'audit/event-proofs.test.ts',
  'console/deliveries-browser.test.ts',
  'console/find.browser.test.ts',
  'threads/log-thread.test.ts',
  'service/lagging-fan-out.test.ts',
  'authorization-server/flow.test.ts',
  'webhooks/circuit-breaker.test.ts',
  'event-store/eventstoredb/cluster.test.ts',
  'document-store/mongodb/document-store.test.ts',
  'event-store/eventstoredb/event-store.test.ts',
  'fair-share/lists.test.ts',
  'soak/chaos.test.ts',
  'service/threads.test.ts',
  'console/frame.browser.test.ts',
  'webhooks/fan-out.test.ts',
  'service/first-start.test.ts',
  'store-identity/store-identity.test.ts',
  'service/revoke.test.ts',
  'webhooks/deliverer.test.ts',
  'cut-connections.test.ts',
  'event-store/sqlite/event-store.test.ts',
  'service/wrong-configuration.test.ts',
  'description/page.test.ts',
  'cli/audit.test.ts',
  'cli/venue.test.ts',
];

const rank = ({ moduleId }: TestSpecification): number => {
  const index = LONGEST.findIndex((file) => moduleId.endsWith(`/test/${file}`));
  return index === -1 ? LONGEST.length : index;
};

const PROJECTS = ['system', 'integration', 'unit'];

/**
 * The longest files of each project first, then Vitest's own order, which knows no durations on a fresh clone. One project after the
 * other, because a worker ends, with all modules it has loaded, when the next file is of another project.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const order = ({ project }: TestSpecification) => PROJECTS.indexOf(project.name);
    return (await super.sort(files)).toSorted((one, other) => order(one) - order(other) || rank(one) - rank(other));
  }
}
