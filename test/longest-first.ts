import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long, longest first, by project. Started last, one of them would occupy a single core at the end. */
const LONGEST = [
  'service/export-import.test.ts',
  'console/every-page.test.ts',
  'ci/running-service.test.ts',
  'service/move-store.test.ts',
  'dropped-connection.test.ts',
  'stand-still.test.ts',
  'release/rollout.test.ts',
  'service/backup.test.ts',
  'service/fault-points.test.ts',
  'console/browser.test.ts',
  'console/requests-in-chromium.test.ts',
  'service/clock.test.ts',
  'console/calendar.browser.test.ts',
  'console/find.browser.test.ts',
  'service/lagging-fan-out.test.ts',
  'console/deliveries-browser.test.ts',
  'service/slow-first-start.test.ts',
  'service/backup-on-servers.test.ts',
  'service/store-identity.test.ts',
  'service/damaged-files.test.ts',
  'soak/chaos.test.ts',
  'service/locked-file.test.ts',
  'projector/projector.test.ts',
  'document-store/reads-under-faults.test.ts',
  'webhooks/stored-first.test.ts',
  'document-store/document-store.test.ts',
  'threads/log-thread.test.ts',
  'event-store/eventstoredb/faulty-reads.test.ts',
  'authorization-server/flow.test.ts',
  'webhooks/circuit-breaker.test.ts',
  'document-store/mongodb/document-store.test.ts',
  'event-store/eventstoredb/event-store.test.ts',
  'event-store/eventstoredb/cluster.test.ts',
  'store-identity/store-identity.test.ts',
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

/** One project after another, those with long files first: a worker whose next file is of another project ends, and a new one starts. */
const PROJECTS = ['system', 'integration', 'unit'];
const project = ({ project }: TestSpecification): number => PROJECTS.indexOf(project.name);

/** In each project the longest files first, then Vitest's own order, which knows no durations on a fresh clone. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => project(one) - project(other) || rank(one) - rank(other));
  }
}
