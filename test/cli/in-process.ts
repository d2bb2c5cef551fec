import { expect, onTestFinished, vi } from 'vitest';
import { runVenue } from '../../src/cli/venue.ts';

/**
 * Until the test ends, commands that run inside this process use this `DATA_DIR`.
 * @param settings further ones, such as those of a pair of engines
 */
export function useDataDir(dataDir: string, settings: Readonly<Record<string, string>> = {}): void {
  for (const [name, value] of Object.entries({ DATA_DIR: dataDir, ...settings })) vi.stubEnv(name, value);
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

/** Adds a community and a brand. @returns their ids, and the options that name them */
export async function addAccounts() {
  const { id: community } = await json('community', 'add', '--name', 'Mill', '--time-zone', 'Asia/Tokyo');
  const { id: brand } = await json('brand', 'add', '--name', 'Aurora');
  return {
    community,
    brand,
    mill: ['--community', `${community}`],
    aurora: ['--brand', `${brand}`],
  };
}

type Settings = Readonly<Record<string, string>>;
let last: Promise<unknown> = Promise.resolve();

/** Runs a command with these settings alone, as in a process that was given them. Such commands run one after another. */
export function inProcessWith(settings: Settings, ...args: readonly string[]) {
  const inherited = process.env;
  const run = async () => {
    process.env = { ...settings };
    try {
      return await inProcess(...args);
    } finally {
      process.env = inherited;
    }
  };
  const result = last.then(run);
  last = result.catch(() => {});
  return result;
}

/** Runs a command that must succeed, ignoring its progress output. @returns its parsed JSON output */
export async function jsonWith(settings: Settings, ...args: readonly string[]) {
  const { code, stdout, stderr } = await inProcessWith(settings, ...args, '--json');
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}
