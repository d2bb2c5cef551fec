import { delimiter, join } from 'node:path';
import { envFor, MACHINE_PATH, ROOT, succeeds, type Tool } from './tool.ts';

/** Made by .ci/run, or by hand. */
const VENV = join(ROOT, '.venv/bin');
const REQUIREMENTS = 'python3 -m venv .venv && .venv/bin/pip install -r test/clients/requirements.txt';

/** Packages of Python in `.venv`. Found is its Python. */
export const inVenv = (name: string, ...modules: readonly string[]): Tool => ({
  name,
  look() {
    const python = join(VENV, 'python');
    return hasModules(python, modules) ? { found: python } : { missing: 'not in .venv', install: REQUIREMENTS };
  },
});

/** The environment in which the programs of `.venv` come first. @throws ToolMissing */
export const envInVenv = (tool: Tool): NodeJS.ProcessEnv => ({
  ...envFor(tool),
  PATH: [VENV, MACHINE_PATH].join(delimiter),
  PYTHONDONTWRITEBYTECODE: '1',
});

/** What docs/guides/audit.md asks for: Python with the package cryptography, that of .ci/run or that of the machine. */
export const CRYPTOGRAPHY: Tool = {
  name: 'Python with cryptography',
  look() {
    const found = [join(VENV, 'python'), 'python3'].find((python) => hasModules(python, ['cryptography']));
    return found === undefined ? { missing: 'not there', install: 'apt-get install python3-cryptography' } : { found };
  },
};

const hasModules = (python: string, modules: readonly string[]): boolean =>
  succeeds([
    python,
    '-c',
    `import sys, importlib.util as u; sys.exit(not all(map(u.find_spec, ${JSON.stringify(modules)})))`,
  ]);
