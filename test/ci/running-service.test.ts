import { execFile } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { lacks } from '../lacks.ts';
import { startNode } from '../service/node-process.ts';
import { envFor, programs, ROOT } from '../tool.ts';

const run = promisify(execFile);
/** Packages run scripts of their own when they are installed. */
const NPM = programs('npm', 'install it as README asks', 'npm');

/** A clone without packages. */
function makeClone(): string {
  const clone = mkdtempSync(join(tmpdir(), 'venue-clone-'));
  onTestFinished(() => rmSync(clone, { recursive: true, force: true, maxRetries: 5 }));
  for (const name of ['.ci', '.npmrc', 'package.json', 'package-lock.json', 'src', 'projections'])
    cpSync(join(ROOT, name), join(clone, name), { recursive: true });
  mkdirSync(join(clone, 'test/clients'), { recursive: true });
  cpSync(join(ROOT, 'test/clients/package.json'), join(clone, 'test/clients/package.json'));
  return clone;
}

/** The package.json of each package, by which file it is on the disk: a package that npm replaced has another one. */
function packagesIn(clone: string): string[] {
  const files = globSync('node_modules/{,@*/}*/package.json', { cwd: clone });
  return files.map((file) => `${file} ${statSync(join(clone, file)).ino}`).sort();
}

test.skipIf(lacks(NPM))(
  'a service runs on what npm start installs, and keeps it while npm test adds packages',
  {
    timeout: 300_000,
  },
  async () => {
    const clone = makeClone();
    // The packages were downloaded when those of this folder were installed.
    const env = { ...envFor(NPM), npm_config_prefer_offline: 'true' };
    const install = (...args: readonly string[]) =>
      run(process.execPath, ['.ci/install.mjs', ...args], { cwd: clone, env });
    await install();
    const before = packagesIn(clone);
    expect(before.length).toBeLessThan(250);
    expect(existsSync(join(clone, 'node_modules/vitest'))).toBe(false);

    const settings = { DATA_DIR: join(clone, 'data'), LOG_LEVEL: 'warn' };
    const service = await startNode('src/main.js', '/readyz', settings, clone);
    onTestFinished(async () => void (await service.end('SIGKILL')));
    let isAdding = true;
    const adding = install('--dev').finally(() => {
      isAdding = false;
    });
    const statuses = new Set<number>();
    while (isAdding) {
      statuses.add((await fetch(`${service.url}/readyz`)).status);
      const now = new Set(packagesIn(clone));
      expect(before.filter((each) => !now.has(each))).toEqual([]);
      await delay(1_000);
    }
    await adding;
    expect([...statuses]).toEqual([200]);
    expect(existsSync(join(clone, 'node_modules/vitest'))).toBe(true);
    // Modules that the service loads when they are first needed: those of OAuth, of the description and of its page.
    for (const path of ['/.well-known/openid-configuration', '/.well-known/jwks', '/openapi.json', '/docs'])
      expect((await fetch(`${service.url}${path}`)).status, path).toBe(200);
    // Once, on a Node that does not report whether it is an LTS release.
    expect(service.output.stderr).toMatch(/^(oidc-provider WARNING: Unsupported runtime\..*\n)?$/);
  },
);
