import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

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

/** Where Debian has the sources of golang.org/x/mod (`golang-golang-x-mod-dev`). */
const DEBIAN = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode' };

/** Builds the program. @returns undefined, and says so loudly, where there is no Go, or not the module that it needs */
export function buildForeign(): Foreign | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'venue-foreign-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const program = join(folder, 'foreign');
  const failures: string[] = [];
  for (const more of [{}, DEBIAN]) {
    const built = spawnSync('go', ['build', '-o', program, '.'], {
      cwd: import.meta.dirname,
      env: { ...process.env, GOFLAGS: '-buildvcs=false', ...more },
      encoding: 'utf8',
      timeout: 50_000,
    });
    if (built.status === 0) return foreign(program);
    failures.push(built.error?.message ?? built.stderr);
  }
  console.warn(
    `\n*** GO DID NOT RUN: no foreign program has checked the seals. Only the vectors that are checked in were compared.\n${failures.join('\n')}`,
  );
  return undefined;
}

function foreign(program: string): Foreign {
  return {
    vectors: () => spawnSync(program, ['vectors'], { encoding: 'utf8' }).stdout,
    check(claim) {
      const run = spawnSync(program, ['check'], { input: JSON.stringify(claim), encoding: 'utf8' });
      return { ok: run.status === 0, says: run.stdout + run.stderr };
    },
  };
}
