import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
/** Far longer than a start takes on an idle machine. */
const START_TIMEOUT_MS = 120_000;

export type Environment = Readonly<Record<string, string>>;
type Output = { stdout: string; stderr: string };
export type Ended = Readonly<Output> & {
  /** `null` if a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
};

export type NodeProcess = {
  readonly url: string;
  /** The folder of its release. */
  readonly root: string;
  readonly pid: number;
  readonly output: Readonly<Output>;
  /** Milliseconds from the start of the process to its first successful response. */
  readonly startedIn: number;
  /** Resolves with the exit code once the process has ended for any reason. */
  readonly ended: Promise<number | null>;
  /** Sends a signal and waits for the process to exit. */
  end(signal: NodeJS.Signals): Promise<number | null>;
};

/** Runs `node <file> <args>` to its end; `input` is what it reads from stdin. */
export async function runNode(
  file: string,
  args: readonly string[],
  env: Environment,
  { input, root = ROOT }: { readonly input?: string; readonly root?: string } = {},
): Promise<Ended> {
  const child = start(file, args, env, root);
  const output = collect(child);
  child.stdin.end(input);
  await once(child, 'close');
  return { code: child.exitCode, signal: child.signalCode, ...output };
}

/**
 * Runs `node <file> <args>` until a condition holds, and then kills it as `kill -9` does.
 * @param isTime polled with the stderr output so far
 * @returns false if it had already ended by itself
 */
export async function killNode(
  file: string,
  args: readonly string[],
  env: Environment,
  isTime: (stderr: string) => boolean,
): Promise<boolean> {
  const child = start(file, args, env, ROOT);
  const output = collect(child);
  const closed = once(child, 'close');
  while (child.exitCode === null && !isTime(output.stderr)) await delay(1);
  child.kill('SIGKILL');
  await closed;
  return child.signalCode === 'SIGKILL';
}

/**
 * Starts `node <file>` on its `PORT`, or a free one, and waits until it is up: until it responds to a path with success, or has printed what
 * matches. `root`: of another release.
 */
export async function startNode(
  file: string,
  isUp: string | RegExp,
  env: Environment,
  root = ROOT,
): Promise<NodeProcess> {
  const port = env.PORT ?? String(await freePort());
  const startedAt = performance.now();
  const child = start(file, [], { PORT: port, ...env }, root);
  const output = collect(child);
  const ended = once(child, 'close').then(() => child.exitCode);
  const url = `http://127.0.0.1:${port}`;
  const deadline = startedAt + START_TIMEOUT_MS;
  while (!(typeof isUp === 'string' ? await isOk(`${url}${isUp}`) : isUp.test(output.stdout))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`${file} did not start:\n${output.stdout}\n${output.stderr}`);
    }
    await delay(25);
  }
  const startedIn = performance.now() - startedAt;
  if (child.pid === undefined) throw new Error(`${file} has no process id`);
  return {
    url,
    root,
    pid: child.pid,
    output,
    startedIn,
    ended,
    end(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

/** The child inherits no environment variable of this process that configures the service. */
function start(file: string, args: readonly string[], env: Environment, root: string) {
  const inherited = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' };
  const child = spawn(process.execPath, [file, ...args], { cwd: root, env: { ...inherited, ...env } });
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

const running = new Set<ChildProcess>();
// When a test run or soak ends early, its processes end, too, including frozen ones.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
// Without a listener, the signal with which Vitest ends a hanging worker would end it without `exit`.
process.once('SIGTERM', () => process.exit(143));

const isOk = (url: string) =>
  fetch(url).then(
    async (response) => {
      await response.arrayBuffer();
      return response.ok;
    },
    () => false,
  );

function collect({ stdout, stderr }: Pick<ChildProcess, 'stdout' | 'stderr'>): Output {
  const output = { stdout: '', stderr: '' };
  stdout?.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  return output;
}
