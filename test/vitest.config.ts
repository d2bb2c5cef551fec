import { statfsSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { hideGivenServers } from './given-servers.ts';
import { LongestFirst } from './longest-first.ts';

hideGivenServers();

const MEMORY = '/dev/shm';

/** Data folders are in memory if there are 2 GiB of room: about a fifth of the time would go into waiting for the disk. */
function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > 2 ** 31;
  } catch {
    return false;
  }
}
if (process.env.TMPDIR === undefined && hasRoom()) {
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache');
  process.env.TMPDIR = MEMORY;
}

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
  'test/docs.test.ts',
  'test/mail/{foreign-name,hourly-limit,kinds,layout,outcome,recipients,refusals,reminders}.test.ts',
  'test/runtime/{serial-queue,turns}.test.ts',
  'test/tools-report.test.ts',
  'test/webhooks/{breaker,due-deliveries,permits,schedule,signature}.test.ts',
];

/** What needs many processes, browsers at several widths, Go, Java or the network: `npm run test:system`. */
const SYSTEM = [
  'test/service/!(first-start|kill|several-processes|start|stop).test.ts',
  'test/{ci,pasted,release,soak}/**/*.test.ts',
  'test/clients/!(python|typescript).test.ts',
  'test/{console,authorization-server}/!(every-)*browser.test.ts',
  'test/console/{every-page,requests-in-chromium,tables}.test.ts',
  'test/description/page.test.ts',
  'test/mail/{*.browser,mail-servers}.test.ts',
  'test/{dropped-connection,stand-still}.test.ts',
  'test/audit/many-checkpoints.test.ts',
  'test/outbox/any-call.test.ts',
];

/** System tests that are part of `npm test`, too, because CI runs that alone. */
const IN_BOTH = ['test/console/every-browser.test.ts', 'test/clients/{python,typescript}.test.ts'];

/**
 * Vitest starts a new worker for a file of another project, and each worker loads the service. So in a run of both projects, all files
 * belong to the first.
 */
const isOne = ['integration', 'system'].every((project) => process.argv.includes(project));

const SYSTEM_TIMEOUTS = { testTimeout: 240_000, hookTimeout: 240_000 };

const MONGODB = './test/document-store/mongodb/server.ts';

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    // Three more than there are cores: most files spend half their time waiting for sockets and other processes.
    maxWorkers: availableParallelism() + 3,
    // The files of a worker share their modules, because what most of them import takes a second to load.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    unstubEnvs: true,
    // Vitest would clear the mocks of tests that run concurrently whenever one of them starts.
    clearMocks: false,
    // oidc-provider recognises LTS releases by their code name, which Node 26 does not report.
    onConsoleLog: (text) => !text.includes('oidc-provider WARNING: Unsupported runtime'),
    // Three times what the longest of those without a limit of their own take on a quiet machine.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A given MongoDB needs a second for each of some hundred databases to be dropped.
    teardownTimeout: 600_000,
    // As long as `eventually` waits.
    expect: { poll: { timeout: 20_000 } },
    // Node alone is on the PATH, so that a test which runs another program without naming it as a tool fails on every machine.
    env: { PATH: dirname(process.execPath), MACHINE_PATH: process.env.PATH },
    reporters: ['default', './test/reporter.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: UNIT,
          execArgv: ['--permission', '--allow-fs-read=*'],
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/**/*.test.ts'],
          exclude: [...UNIT, ...(isOne ? [] : SYSTEM), '**/node_modules/**'],
          globalSetup: MONGODB,
          ...(isOne && SYSTEM_TIMEOUTS),
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: isOne ? [] : [...SYSTEM, ...IN_BOTH],
          exclude: ['**/node_modules/**'],
          globalSetup: MONGODB,
          ...SYSTEM_TIMEOUTS,
        },
      },
    ],
  },
});
