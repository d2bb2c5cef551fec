import { expect, onTestFinished, vi } from 'vitest';
import { runVenue } from '../../src/cli/venue.ts';

/** Until the test ends, commands that run inside this process use this `DATA_DIR`. */
export function useDataDir(dataDir: string): void {
  vi.stubEnv('DATA_DIR', dataDir);
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** Runs a command inside this process, which is faster than in a separate one. */
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

/** Runs a command that must succeed, and parses its JSON output. */
export async function json(...args: readonly string[]) {
  const { code, stdout, stderr } = await inProcess(...args, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}
