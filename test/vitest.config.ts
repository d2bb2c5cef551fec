import { statfsSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { hideGivenServers } from './given-servers.ts';
import { LongestFirst } from './longest-first.ts';
import { AT_MOMENTS, MOMENTS, ON_EACH_ENGINE, SUITES } from './suites.ts';

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
 * Vitest starts a new worker for a file of another project, and each worker loads the service. So in a run of both suites, all files
 * belong to the first project.
 */
const isOne = ['integration', 'system'].every((project) => process.argv.includes(project));

/** Starts a MongoDB for the tests that use one, and allows for what starts processes and servers. */
const ON_SERVERS = {
  globalSetup: './test/document-store/mongodb/server.ts',
  testTimeout: 240_000,
  hookTimeout: 240_000,
};

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
    // In a run of all suites, for the processes and browsers of ten thousand tests. The end of the run lists what passed only then.
    retry: isOne ? 1 : 0,
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
          include: [...SUITES.unit],
          // A search that records its figure writes a file, and asks git for the commit.
          execArgv: process.env.PROOF === 'write' ? [] : ['--permission', '--allow-fs-read=*'],
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: [...SUITES.integration, ...(isOne ? SUITES.system : [])],
          provide: { engines: isOne ? 'all' : 'embedded' },
          ...(isOne && ON_SERVERS),
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: isOne ? [] : [...SUITES.system],
          provide: { engines: 'all' },
          ...ON_SERVERS,
        },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: isOne ? [] : [...ON_EACH_ENGINE],
          provide: { engines: 'servers' },
          ...ON_SERVERS,
        },
      },
      ...Object.entries(MOMENTS).map(([name, startsAt]) => ({
        extends: true as const,
        test: {
          name: `clock-${name}`,
          include: [...AT_MOMENTS],
          setupFiles: './test/moved-clock.ts',
          provide: { engines: 'embedded' as const, startsAt },
        },
      })),
      {
        extends: true,
        test: {
          name: 'check',
          include: [...SUITES.check],
        },
      },
    ],
  },
});
