import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** What some tests use beyond Node and npm's packages. Without it they are skipped, and the run lists it at its end: see `lacks`. */
export type Tool = {
  readonly name: string;
  readonly look: () => Result;
};

/** Where it is, or which one it is. */
type Found = { readonly found: string };
/** Why it cannot be used, and the command or setting that changes that. */
export type Missing = { readonly missing: string; readonly install: string };
export type Result = Found | Missing;

export const ROOT = new URL('..', import.meta.url).pathname;

/** The `PATH` of the machine. That of a test has Node alone, so a test fails on every machine if it does not name the tool that it runs. */
export const MACHINE_PATH = process.env.MACHINE_PATH ?? process.env.PATH ?? '';

/** Set by `npm run test:bare`, which runs as if no tool were there. */
export const HIDDEN: Missing | undefined =
  process.env.TEST_TOOLS === 'none' ? { missing: 'hidden by TEST_TOOLS=none', install: 'unset it' } : undefined;

const results = new Map<Tool, Result>();

/** Looks for a tool, once in each process. */
export const find = (tool: Tool): Result => HIDDEN ?? results.getOrInsertComputed(tool, () => tool.look());

export class ToolMissing extends Error {
  constructor(name: string, { missing, install }: Missing) {
    super(`${name}: ${missing}. To try it: ${install}`);
  }
}

/** @throws ToolMissing */
export function foundAt(tool: Tool): string {
  const result = find(tool);
  if ('missing' in result) throw new ToolMissing(tool.name, result);
  return result.found;
}

/** The environment in which a tool runs and finds its own programs. @throws ToolMissing */
export function envFor(tool: Tool): NodeJS.ProcessEnv {
  foundAt(tool);
  return { ...process.env, PATH: MACHINE_PATH };
}

export const onPath = (program: string): string | undefined =>
  MACHINE_PATH.split(delimiter)
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path));

/** Programs on the `PATH`. Found is the first one. */
export const programs = (name: string, install: string, ...needed: readonly [string, ...string[]]): Tool => ({
  name,
  look() {
    const absent = needed.filter((program) => onPath(program) === undefined);
    return absent.length > 0 ? { missing: `no ${absent.join(', ')}`, install } : { found: onPath(needed[0]) ?? '' };
  },
});

type Where = { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> };

/** Whether a command that looks for a tool succeeds. */
export function succeeds([program = '', ...args]: readonly string[], { cwd = ROOT, env }: Where = {}): boolean {
  const options = { cwd, env: { ...process.env, PATH: MACHINE_PATH, ...env }, timeout: 50_000 };
  return spawnSync(program, args, options).status === 0;
}
