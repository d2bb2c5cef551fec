import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lacks } from '../lacks.ts';
import { envFor, onPath, succeeds, type Tool } from '../tool.ts';
import { ALL_CALLED, MOVED_AND_ADDED, type ServiceForClients, serviceForClients } from './signed-in.ts';

const run = promisify(execFile);
const here = (path: string) => new URL(path, import.meta.url).pathname;

let service: ServiceForClients;
beforeAll(async () => {
  service = await serviceForClients();
});
afterAll(() => service.stop());

/** .ci/run downloads the modules; nothing is fetched here. */
const OFFLINE = { GOPROXY: 'off', GOFLAGS: '-buildvcs=false' };

const GO: Tool = {
  name: 'Go with oapi-codegen',
  look: () =>
    succeeds(['go', 'tool', '-n', 'oapi-codegen'], { cwd: here('go'), env: OFFLINE })
      ? { found: onPath('go') ?? '' }
      : { missing: 'no go, or not its modules', install: 'install Go; cd test/clients/go && go mod download' },
};

const go = (...args: readonly string[]) => run('go', args, { env: { ...envFor(GO), ...OFFLINE }, cwd: service.folder });

test.skipIf(lacks(GO))(
  'oapi-codegen generates a client that signs in with x/oauth2, refreshes and calls every operation',
  async () => {
    await cp(here('go'), service.folder, { recursive: true });
    const generated = await go('tool', 'oapi-codegen', '-config', 'config.yaml', here('../../docs/openapi.json'));
    expect(generated.stderr).toBe('');
    await go('build', '-o', 'client', '.');
    expect(await service.runClient(join(service.folder, 'client'), [])).toEqual({
      refreshed: true,
      statuses: ALL_CALLED,
      ...MOVED_AND_ADDED,
      totalPrice: 230,
      charged: 230,
    });
  },
);
