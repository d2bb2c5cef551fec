import { expect, onTestFinished, vi } from 'vitest';
import { runVenue } from '../../src/cli/venue.ts';

/** The commands run inside this process work on this `DATA_DIR` until the test ends. */
export function useDataDir(dataDir: string): void {
  vi.stubEnv('DATA_DIR', dataDir);
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** Runs a command inside this process, which is quicker than in one of its own. */
export async function inProcess(...args: readonly string[]) {
  let stdout = '';
  let stderr = '';
  const code = await runVenue(args, {
    out: (text) => {
      stdout += text;
    },
    err: (text) => {
      stderr += text;
    },
  });
  return { code, stdout, stderr };
}

/** What a command that succeeds prints for machines. */
export async function json(...args: readonly string[]) {
  const { code, stdout, stderr } = await inProcess(...args, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}
