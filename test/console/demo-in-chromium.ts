import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { launchChromium, signInOnce } from './chromium.ts';
import { type Running, startDemo } from './console.fixture.ts';

/** Started before the first test, and ended after the last one. */
export type DemoInChromium = {
  readonly running: Running;
  readonly browser: Browser;
  /** The cookies of a user, who is signed in once. */
  readonly signedIn: ReturnType<typeof signInOnce>;
};

/** Starts the demo and Chromium for the tests of a block. @returns what its tests and later hooks may use */
export function useDemoInChromium(env: Readonly<Record<string, string>> = {}): DemoInChromium {
  const started: { running?: Running; browser?: Browser; signedIn?: DemoInChromium['signedIn'] } = {};
  beforeAll(async () => {
    const [running, browser] = await Promise.all([startDemo(env), launchChromium()]);
    Object.assign(started, { running, browser, signedIn: signInOnce(running.url) });
  });
  afterAll(async () => {
    await started.browser?.close();
    await started.running?.stop();
  });
  return started as DemoInChromium;
}
