import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const printed = (program: string, ...args: readonly string[]): string | undefined => {
  const { status, stdout } = spawnSync(program, args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
};

/** The Node that a reader has: the first one on the PATH that is not the package. */
function machineNode() {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'node');
    if (folder.includes('node_modules') || !existsSync(path)) continue;
    const version = printed(path, '--version');
    if (version !== undefined) return { path, version };
  }
  return { path: process.execPath, version: process.version };
}

export const MACHINE_NODE = machineNode();

export const HAS_TOOLS = ['bash', 'curl', 'npm', 'openssl', 'python3'].every((tool) =>
  printed(tool, tool === 'openssl' ? 'version' : '--version'),
);
/** The one that .ci/run makes, or that of the machine. */
export const HAS_CRYPTOGRAPHY = [new URL('../../.venv/bin/python3', import.meta.url).pathname, 'python3'].some(
  (python) => printed(python, '-c', 'import cryptography') !== undefined,
);
