import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// Test files run in processes of their own and tell the reporter through this file which engines they met.
process.env.ENGINE_REPORT = join(tmpdir(), `venue-booking-engines-${process.pid}.txt`);

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    // A worker for each core; all but a few files wait for disks, sockets and other processes half of their time.
    maxWorkers: '100%',
    // Files of one worker share its modules: what most of them import takes a second to load.
    isolate: false,
    unstubEnvs: true,
    // oidc-provider knows an LTS release by its code name, which Node 26 does not give.
    onConsoleLog: (text) => !text.includes('oidc-provider WARNING: Unsupported runtime'),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    env: { ENGINE_REPORT: process.env.ENGINE_REPORT },
    globalSetup: './test/document-store/mongodb/server.ts',
    reporters: ['default', './test/reporter.ts'],
  },
});
