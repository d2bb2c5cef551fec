import { globSync, readFileSync } from 'node:fs';

/** Part of `npm run check`: rules for the source, its patterns and the deployments, which no service runs for. */
const CHECK = ['test/{architecture,deploy}.test.ts', 'test/{mutation,patterns}/*.test.ts'];

/**
 * The pure tests, fast enough to run while working: they start no processes or threads, open no sockets and write no files, so
 * they need neither engines nor a browser. Node denies them all of that; a test that needs it is an integration test.
 */
const UNIT = [
  'test/{domain,html,projections,secrets}/*.test.ts',
  'test/api/health.test.ts',
  'test/audit/{portable-event,merkle-tree,tree-tiles,signed-note,checkpoint}.test.ts',
  'test/auth/{access,links}.test.ts',
  'test/bench/report.test.ts',
  'test/authorization-server/redirect-uri.test.ts',
  'test/cli/print.test.ts',
  'test/config.test.ts',
  'test/contract/webhook-payload.test.ts',
  'test/{docs,suites,tools-report}.test.ts',
  'test/linearizability/{check,space-day}.test.ts',
  'test/mail/{foreign-name,hourly-limit,kinds,layout,outcome,recipients,refusals,reminders}.test.ts',
  'test/event-loop/serial-queue.test.ts',
  'test/http/turns.test.ts',
  'test/leases/lease-state.test.ts',
  'test/outbox/{failed-events,follow-kinds,marks,outbox,permits,poll,progress,queue,retries,schedule}.test.ts',
  'test/webhooks/{breaker,due-deliveries,outcome,signature}.test.ts',
];

/** What needs servers, many processes, browsers, other languages or the network, or takes long: `npm run test:system`. */
const SYSTEM = [
  'test/{ci,clients,fair-share,garbage,model,pasted,release,soak}/**/*.test.ts',
  'test/linearizability/histories*.test.ts',
  'test/simulation/{every-await,simulation}.test.ts',
  'test/service/!(kill|several-processes).test.ts',
  'test/service/rooms/*.test.ts',
  'test/{cut-connections,dropped-connection,round-trips,stand-still}.test.ts',
  'test/document-store/mongodb/!(failures|server-url).test.ts',
  'test/event-store/eventstoredb/!(settings).test.ts',
  'test/projector/killed-projectors.test.ts',
  'test/outbox/any-call.test.ts',
  'test/photos/{removal,slow-upload}.test.ts',
  'test/webhooks/{circuit-breaker,registration-limit,stored-first}.test.ts',
  'test/audit/{attacks,event-proofs,fork,many-checkpoints,sceptic,seal-*}.test.ts',
  'test/audit/foreign/*.test.ts',
  'test/transfer/{export,hostile,import}.test.ts',
  'test/mcp/{conformance,earlier-sdk}.test.ts',
  'test/{console,authorization-server}/*browser.test.ts',
  'test/console/{every-page,requests-in-chromium,tables}.test.ts',
  'test/description/page.test.ts',
  'test/mail/{*.browser,mail-servers}.test.ts',
];

/** Who may do and see what, what a form keeps, and how mail is transported: the same on every day, and most of the time of a moment. */
const SAME_AT_EVERY_MOMENT = [
  'test/api/entity-tags.test.ts',
  'test/console/{connections,names,page-reads,photos,public-callers,restored-forms}.test.ts',
  'test/console/{roles,sign-in,without-amounts,your-account}.test.ts',
  'test/mail/{mailer,smtp-sender,tls}.test.ts',
];

const ROOT = new URL('..', import.meta.url);
const filesOf = (patterns: readonly string[]): readonly string[] =>
  globSync(patterns, { cwd: ROOT.pathname, exclude: ['**/node_modules/**'] });

const ALL = filesOf(['test/**/*.test.ts']);
const chosen = { check: filesOf(CHECK), unit: filesOf(UNIT), system: filesOf(SYSTEM) };
const elsewhere = new Set(Object.values(chosen).flat());

/** The files of each suite. What no list names is an integration test. */
export const SUITES = { ...chosen, integration: ALL.filter((file) => !elsewhere.has(file)) };

/** Every pattern by itself, for the test that each finds files. */
export const PATTERNS = [...CHECK, ...UNIT, ...SYSTEM, ...SAME_AT_EVERY_MOMENT];

/** The lists of engines to test on (test/document-store/engines.ts, test/engine-pairs.ts, test/outbox/house.ts). */
const EACH_ENGINE = /\.each\((?:documentEngines|enginePairs|logEngines)\)/;

/** Contracts that `npm test` runs on the embedded engines, and the system suite on servers. */
export const ON_EACH_ENGINE = SUITES.integration.filter((file) =>
  EACH_ENGINE.test(readFileSync(new URL(file, ROOT), 'utf8')),
);

/** When the system suite runs the tests of API, console and mail once more, but for those that are the same then. */
export const MOMENTS = {
  // Into a Saturday.
  'new-year': '2027-12-31T23:57:00Z',
  // The clocks of Berlin change at 1:00 UTC.
  spring: '2027-03-28T00:58:00Z',
  autumn: '2027-10-31T00:58:00Z',
  'leap-day': '2028-02-29T12:00:00Z',
} as const;
const sameAtEveryMoment = new Set(filesOf(SAME_AT_EVERY_MOMENT));
export const AT_MOMENTS = SUITES.integration.filter(
  (file) => /^test\/(api|console|mail)\//.test(file) && !sameAtEveryMoment.has(file),
);

/**
 * Files that take long, started first: started last, one of them would occupy a single core at the end. Those that compute alternate
 * with those that mostly wait, so that no more than a few compete for the processor.
 */
export const LONGEST = [
  'linearizability/histories-on-servers.test.ts',
  'linearizability/histories.test.ts',
  'model/histories.test.ts',
  'simulation/simulation.test.ts',
  'simulation/every-await.test.ts',
  'service/export-import.test.ts',
  'service/rooms/rooms-on-servers.test.ts',
  'service/rooms/rooms.test.ts',
  'projector/projector.test.ts',
  'threads/writer.test.ts',
  'mail/mailer.test.ts',
  'every-route.test.ts',
  'outbox/nothing-lost.test.ts',
  'checked-before-body.test.ts',
  'cli/webhooks.test.ts',
  'stand-still.test.ts',
  'service/clock.test.ts',
  'console/every-browser.test.ts',
  'console/every-page.test.ts',
  'console/reach.browser.test.ts',
  'service/move-store.test.ts',
  'service/slow-first-start.test.ts',
  'service/lagging-fan-out.test.ts',
  'dropped-connection.test.ts',
  'ci/running-service.test.ts',
  'document-store/mongodb/reads-under-faults.test.ts',
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
