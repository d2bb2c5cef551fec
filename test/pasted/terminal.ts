import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../free-port.ts';
import { envFor, ROOT } from '../tool.ts';
import { MACHINE_NODE, TERMINAL } from './tools.ts';

/** What the commands of the docs need of a checkout. */
const CHECKOUT = ['.ci', '.npmrc', 'node_modules', 'package.json', 'package-lock.json', 'projections', 'src', 'test'];

/** `in_background URL COMMAND …` starts what a reader leaves running in a terminal of its own, and waits until its URL answers. */
const FUNCTIONS = `
set -m
touch "$TERMINAL/background"
trap 'while read -r pid; do kill -KILL -- -$pid || true; done < "$TERMINAL/background"' EXIT
in_background() {
  "\${@:2}" >> "$TERMINAL/background.txt" 2>&1 &
  local pid=$!
  echo $pid >> "$TERMINAL/background"
  until [[ $(curl -s -o /dev/null -w '%{http_code}' "$1") =~ 200|401 ]]; do kill -0 $pid || { cat "$TERMINAL/background.txt"; return 1; }; sleep 0.05; done
}
start_service() { in_background "http://127.0.0.1:$PORT/readyz" "$NODE" src/main.js; }
`;

export type Given = {
  /** By default `demo`. `none`: there is no data. `service`: the service runs on the demo data. */
  readonly given?: 'none' | 'demo' | 'service';
  /** Whether `npx` is the real one, which takes seconds for each command, or only starts the command line as that does. */
  readonly npx?: 'real';
  /** A folder with demo data, which is copied. */
  readonly demo: string;
};

export type Terminal = Awaited<ReturnType<typeof openTerminal>>;

/** Opens a shell in a fresh folder that looks like a checkout of the service. */
export async function openTerminal({ given = 'demo', npx, demo }: Given) {
  const [port, receiverPort] = [await freePort(), await freePort()];
  const terminal = mkdtempSync(join(tmpdir(), 'venue-terminal-'));
  const folder = join(terminal, 'checkout');
  const tools = join(terminal, 'tools');
  for (const path of [folder, tools]) mkdirSync(path);
  for (const name of CHECKOUT) symlinkSync(join(ROOT, name), join(folder, name));
  symlinkSync(MACHINE_NODE.path, join(tools, 'node'));
  if (npx !== 'real') {
    const script = `#!/bin/sh\n[ "$1" = venue ] || exit 1\nshift\nnpm_command=exec exec '${process.execPath}' '${ROOT}src/cli.js' "$@"\n`;
    writeFileSync(join(tools, 'npx'), script, { mode: 0o755 });
  }
  const path = (envFor(TERMINAL).PATH ?? '').split(delimiter).filter((each) => !each.includes('node_modules'));
  const shell = spawn('bash', ['--norc', '-eu', '-o', 'pipefail'], {
    cwd: folder,
    env: {
      PATH: [tools, `${ROOT}.venv/bin`, ...path].join(delimiter),
      HOME: process.env.HOME ?? '',
      TERMINAL: terminal,
      NODE: process.execPath,
      PORT: String(port),
      LOG_LEVEL: 'warn',
      npm_config_cache: join(terminal, 'npm'),
      npm_config_update_notifier: 'false',
      ...(process.env.NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = once(shell, 'close');
  const lines = createInterface(shell.stdout)[Symbol.asyncIterator]();
  let blocks = 0;
  const closing: (() => Promise<unknown>)[] = [];

  /** Runs what is pasted, as the same shell does one paste after another. @returns what it printed */
  async function paste(code: string): Promise<string> {
    blocks += 1;
    const path = join(terminal, String(blocks));
    writeFileSync(`${path}.sh`, code);
    shell.stdin.write(`. '${path}.sh' < /dev/null > '${path}.txt' 2>&1; echo done\n`);
    const { done } = await lines.next();
    const printed = readFileSync(`${path}.txt`, 'utf8');
    if (done) throw new Error(`It fails when pasted:\n${code}\n${printed}`);
    return printed;
  }

  async function close() {
    shell.stdin.end();
    await ended;
    for (const end of closing) await end();
    rmSync(terminal, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }

  await paste(FUNCTIONS);
  if (given !== 'none') await paste(`cp -r '${demo}' data`);
  if (given === 'service') await paste('start_service');
  return {
    folder,
    port,
    receiverPort,
    paste,
    onClose: (end: () => Promise<unknown>) => void closing.push(end),
    [Symbol.asyncDispose]: close,
  };
}
