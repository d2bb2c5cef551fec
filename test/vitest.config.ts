import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// Test files run in processes of their own and tell the reporter through this file which engines they met.
process.env.ENGINE_REPORT = join(tmpdir(), `venue-booking-engines-${process.pid}.txt`);

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    env: { ENGINE_REPORT: process.env.ENGINE_REPORT },
    globalSetup: './test/document-store/mongodb/server.ts',
    reporters: ['default', './test/reporter.ts'],
  },
});
