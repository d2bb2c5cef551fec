import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { MACHINE_PATH, programs, type Tool } from '../tool.ts';

/** The Node that a reader has: the first one on the PATH that is not the package. */
function machineNode() {
  for (const folder of MACHINE_PATH.split(delimiter)) {
    const path = join(folder, 'node');
    if (folder.includes('node_modules') || !existsSync(path)) continue;
    const { status, stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' });
    if (status === 0) return { path, version: stdout.trim() };
  }
  return { path: process.execPath, version: process.version };
}

export const MACHINE_NODE = machineNode();

/** What the README and the docs are tried with. */
export const NODE_20: Tool = {
  name: 'Node 20, for what is pasted',
  look: () =>
    MACHINE_NODE.version.startsWith('v20.')
      ? { found: MACHINE_NODE.path }
      : { missing: `this machine has ${MACHINE_NODE.version}`, install: 'put Node 20 first on the PATH' },
};

/** The programs of a reader who pastes what the docs show. */
export const TERMINAL = programs(
  'a terminal with what is pasted',
  'apt-get install bash curl openssl python3',
  ...(['bash', 'curl', 'npm', 'openssl', 'python3'] as const),
);
