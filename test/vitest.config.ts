import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './longest-first.ts';

// Test files run in processes of their own and tell the reporter through this file which engines they met.
process.env.ENGINE_REPORT = join(tmpdir(), `venue-booking-engines-${process.pid}.txt`);

/**
 * The pure tests, for while one works: they start no process and no thread, open no socket and write no file, hence need no
 * engine and no browser. Node refuses them all that; whoever needs it is an integration test.
 */
const UNIT = [
  'test/{domain,html,projections,secrets}/*.test.ts',
  'test/api/health.test.ts',
  'test/auth/access.test.ts',
  'test/authorization-server/{form-target,sign-in-attempts}.test.ts',
  'test/cli/print.test.ts',
  'test/config.test.ts',
  'test/contract/webhook-payload.test.ts',
  'test/docs.test.ts',
  'test/runtime/serial-queue.test.ts',
  'test/webhooks/{schedule,signature}.test.ts',
];

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    // One more than there are cores: most files wait half of their time, for disks, sockets and other processes.
    maxWorkers: availableParallelism() + 1,
    // The files of a worker share its modules: what most of them import takes a second to load.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    unstubEnvs: true,
    // oidc-provider knows an LTS release by its code name, which Node 26 does not give.
    onConsoleLog: (text) => !text.includes('oidc-provider WARNING: Unsupported runtime'),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // As long as `eventually` waits.
    expect: { poll: { timeout: 20_000 } },
    env: { ENGINE_REPORT: process.env.ENGINE_REPORT },
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
          exclude: UNIT,
          globalSetup: './test/document-store/mongodb/server.ts',
        },
      },
    ],
  },
});
