import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { envFor, onPath, succeeds, type Tool } from '../../tool.ts';

/** The program in Go that checks what the service signs and proves; see main.go. */
export type Foreign = {
  /** The vectors that it makes, as text. */
  vectors(): string;
  /** @returns its output, and whether it accepts the claim */
  check(claim: ForeignClaim): { readonly ok: boolean; readonly says: string };
};

export type ForeignClaim = {
  readonly key: string;
  readonly checkpoint: string;
  readonly records: readonly { readonly index: number; readonly text: string; readonly proof: readonly string[] }[];
  readonly earlier?: string;
  readonly consistency?: readonly string[];
};

/** Go gets golang.org/x/mod by itself, or finds the sources of Debian (`golang-golang-x-mod-dev`). */
const MODES = [{}, { GO111MODULE: 'off', GOPATH: '/usr/share/gocode' }];

const workingMode = () =>
  MODES.find((env) => succeeds(['go', 'list', '-deps', '.'], { cwd: import.meta.dirname, env }));

export const GO_SUMDB: Tool = {
  name: 'Go with golang.org/x/mod/sumdb',
  look: () =>
    workingMode() === undefined
      ? { missing: 'no go, or not this module', install: 'apt-get install golang golang-golang-x-mod-dev' }
      : { found: onPath('go') ?? '' },
};

/** Builds the program. Only for tests that are skipped without {@link GO_SUMDB}. */
export function buildForeign(whenFinished: (remove: () => void) => void): Foreign {
  const folder = mkdtempSync(join(tmpdir(), 'venue-foreign-'));
  whenFinished(() => rmSync(folder, { recursive: true }));
  const program = join(folder, 'foreign');
  execFileSync('go', ['build', '-o', program, '.'], {
    cwd: import.meta.dirname,
    env: { ...envFor(GO_SUMDB), GOFLAGS: '-buildvcs=false', ...workingMode() },
    timeout: 50_000,
  });
  return {
    vectors: () => spawnSync(program, ['vectors'], { encoding: 'utf8' }).stdout,
    check(claim) {
      const run = spawnSync(program, ['check'], { input: JSON.stringify(claim), encoding: 'utf8' });
      return { ok: run.status === 0, says: run.stdout + run.stderr };
    },
  };
}
