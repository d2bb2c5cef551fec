import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { Demo } from '../../src/demo.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const STARTS_WITHIN_MS = 20_000;

/** A `DATA_DIR` of its own, removed when the test has ended. */
export function temporaryDataDir(): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'venue-booking-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return dataDir;
}

/** A port that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return address.port;
}

type Environment = Readonly<Record<string, string>>;

/** What of this process's environment a child of a test gets: nothing that configures the service. */
const surroundings = (): Environment => ({ PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' });

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Runs `node <file> <args>` to its end; `input` is what it reads from stdin. */
export async function runNode(file: string, args: readonly string[], env: Environment, input?: string): Promise<Ended> {
  const child = spawn(process.execPath, [file, ...args], {
    cwd: ROOT,
    env: { ...surroundings(), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const output = collect(child);
  child.stdin.end(input);
  await once(child, 'close');
  return { code: child.exitCode, ...output };
}

/** The command line on a `DATA_DIR`. */
export const venue = (dataDir: string, ...args: readonly string[]): Promise<Ended> =>
  runNode('src/cli.ts', args, { DATA_DIR: dataDir });

export type ServiceProcess = {
  readonly url: string;
  readonly dataDir: string;
  readonly pid: number;
  readonly output: { readonly stdout: string; readonly stderr: string };
  /** What the first start left in `demo.json`. */
  demo(): Demo;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<number | null>;
};

/** Starts `node src/main.ts` and waits until it is ready. It is killed when the test has ended. */
export async function startServiceProcess(dataDir: string, env: Environment = {}): Promise<ServiceProcess> {
  const port = await freePort();
  const child = spawn(process.execPath, ['src/main.ts'], {
    cwd: ROOT,
    env: { ...surroundings(), LOG_LEVEL: 'warn', DATA_DIR: dataDir, PORT: String(port), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collect(child);
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  const deadline = performance.now() + STARTS_WITHIN_MS;
  while (!(await isReady(url))) {
    if (child.exitCode !== null || performance.now() > deadline)
      throw new Error(`The service did not start:\n${output.stdout}\n${output.stderr}`);
    await delay(25);
  }
  if (child.pid === undefined) throw new Error('The service has no process id');
  return {
    url,
    dataDir,
    pid: child.pid,
    output,
    demo: () => JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')),
    async end(signal) {
      child.kill(signal);
      await ended;
      return child.exitCode;
    },
  };
}

const isReady = (url: string) =>
  fetch(`${url}/readyz`).then(
    async (response) => {
      await response.arrayBuffer();
      return response.ok;
    },
    () => false,
  );

function collect({ stdout, stderr }: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: '', stderr: '' };
  stdout?.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  return output;
}
